import { Closing } from '../../../worker/closing.ts';
import type { DeadNotice } from '../../store/notices/notice-store.ts';
import type { Store } from '../../store/store.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import type { ConnectOptions } from '../connect-folder.ts';
import { connectStore } from '../connect-folder.ts';
import { loadDataConverter } from '../environment/data-converter.ts';
import { shownNotice } from './list-notices.ts';
import { namedNotice, shortId } from './named-notice.ts';

export interface ChangeNoticeOptions {
  json?: boolean;
}

type Placed = ChangeNoticeOptions & Pick<ConnectOptions, 'folder' | 'env'>;

const PAGE = 500;

/** `holdfast notices drop`: nobody need be told any more. */
export async function dropNotice(
  argument: string,
  { folder, env, json }: Placed,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { store, close } = await connectStore({ folder, env, onProgress: output.note });
  try {
    const notice = await namedNotice(store, argument);
    await withProgress(output, 'dropping', store.notices.dropDeadNotice(notice));
    if (json) output.json(shownNotice(notice));
    else output.line(`${shortId(notice)} is dropped`);
  } finally {
    await close();
  }
}

export interface ResendNoticesOptions extends ChangeNoticeOptions {
  /** In place of a notice: each that was given up. */
  all?: boolean;
  /** With `all`: of this app. */
  app?: string;
}

/** `holdfast notices resend`: a worker tells it again, or all of them, for as long as its notifier tries. */
export async function resendNotice(
  argument: string | undefined,
  { folder, env, json, all, app }: Placed & ResendNoticesOptions,
  output: CommandOutput = processOutput(),
): Promise<void> {
  if ((argument === undefined) !== (all === true)) throw new UsageError('name one notice, or say --all');
  if (app !== undefined && !all) throw new UsageError('--app goes with --all');
  const closing = new Closing();
  try {
    const { store, close } = await connectStore({ folder, env, onProgress: output.note });
    closing.add(close);
    // All are read first: one that fails again at once is not sent again and again.
    const notices =
      argument === undefined ? await allNotices(store, app) : [await namedNotice(store, argument)];
    if (notices.length === 0) {
      if (json) output.json({ notices: [] });
      else output.note('no notice was given up');
      return;
    }
    const { connectClient, openTemporal } = await import('../../../worker/temporal/connect.ts');
    const { startNotice } = await import('../../approvals/start-notice.ts');
    const server = await openTemporal({ folder, env, onProgress: output.note });
    if (server.startedHere) closing.add(() => server.stop?.());
    const temporal = await connectClient(server, await loadDataConverter(env));
    closing.add(() => temporal.connection.close());
    const sent: DeadNotice[] = [];
    for (const notice of notices) {
      const { taskQueue } = notice;
      const { failedAt: _failedAt, ...input } = notice.input;
      const start = startNotice(temporal, input, { taskQueue, again: true });
      // Its workflow is about to end: it would not be told again.
      if (!(await withProgress(output, 'sending', start))) continue;
      sent.push(notice);
      // One that has failed again by now stays.
      await store.notices.dropDeadNotice(notice);
      if (!json) output.line(`${shortId(notice)} is being told again, by a worker of ${taskQueue}`);
    }
    const [first] = sent;
    if (json && all) output.json({ notices: sent.map(shownNotice) });
    else if (json && first !== undefined) output.json(shownNotice(first));
    const busy = notices.filter((notice) => !sent.includes(notice)).map(shortId);
    if (busy.length > 0) throw new CliError(`still being told: ${busy.join(', ')}: try again`);
  } finally {
    await closing.close();
  }
}

/** One that dies again meanwhile is read twice: it is as it was read last. */
async function allNotices(store: Store, app: string | undefined): Promise<DeadNotice[]> {
  const all = new Map<string, DeadNotice>();
  for (let after: DeadNotice | undefined; ; ) {
    const page = await store.notices.listDeadNotices({
      limit: PAGE,
      ...(app === undefined ? {} : { app }),
      ...(after === undefined ? {} : { after }),
    });
    for (const notice of page) all.set(notice.noticeId, notice);
    if (page.length < PAGE) return [...all.values()];
    after = page.at(-1);
  }
}
