import { Client, Connection } from '@temporalio/client';
import { openTemporal, stopEmbedded } from '../../../worker/index.ts';
import { retriesUntilClosed } from '../../../worker/temporal/retries-until-closed.ts';
import { startNotice } from '../../approvals/start-notice.ts';
import type { DeadNotice, Store } from '../../store/store.ts';
import { CliError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import type { ConnectOptions } from '../connect-folder.ts';
import { connectStore } from '../connect-store.ts';
import { Closing } from '../environment/closing.ts';
import { shortId, shownNotice } from './list-notices.ts';

export interface ChangeNoticeOptions {
  json?: boolean;
}

type Placed = ChangeNoticeOptions & Pick<ConnectOptions, 'folder' | 'env'>;

const MOST_LISTED = 1_000;

/** `holdfast notices drop`: nobody need be told any more. */
export async function dropNotice(
  argument: string,
  { folder, env, json }: Placed,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { store, close } = await connectStore({ folder, env, onProgress: output.note });
  try {
    const notice = await namedNotice(store, argument);
    await withProgress(output, 'dropping', store.dropDeadNotice(notice));
    if (json) output.json(shownNotice(notice));
    else output.line(`${shortId(notice)} is dropped`);
  } finally {
    await close();
  }
}

/** `holdfast notices resend`: a worker tells it again, for as long as its notifier tries. */
export async function resendNotice(
  argument: string,
  { folder, env, json }: Placed,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const closing = new Closing();
  try {
    const { store, close } = await connectStore({ folder, env, onProgress: output.note });
    closing.add(close);
    const notice = await namedNotice(store, argument);
    const target = await openTemporal({ folder, env, onProgress: output.note });
    if (target.startedHere) closing.add(() => stopEmbedded(folder));
    const connection = await Connection.connect({
      ...target.connectionOptions,
      interceptors: retriesUntilClosed(),
    });
    closing.add(() => connection.close());
    const temporal = new Client({ connection, namespace: target.namespace });
    const { input, taskQueue } = notice;
    const start = startNotice(temporal, { ...input, since: Date.now() }, { taskQueue, again: true });
    await withProgress(output, 'sending', start);
    // One that has failed again by now stays.
    await store.dropDeadNotice(notice);
    if (json) output.json(shownNotice(notice));
    else output.line(`${shortId(notice)} is being told again, by a worker of ${taskQueue}`);
  } finally {
    await closing.close();
  }
}

/** @throws CliError where there is none, or several. */
async function namedNotice(store: Store, argument: string): Promise<DeadNotice> {
  const whole = await store.findDeadNotice(argument);
  if (whole !== undefined) return whole;
  const notices = await store.listDeadNotices({ limit: MOST_LISTED });
  const [found, ...others] = notices.filter((notice) => shortId(notice) === argument);
  if (found === undefined) {
    throw new CliError(
      `there is no notice ${argument}: holdfast notices list shows those that were given up`,
      2,
    );
  }
  if (others.length === 0) return found;
  throw new CliError(
    `several notices are called ${argument}: name one by its whole id, as --json lists it`,
    2,
  );
}
