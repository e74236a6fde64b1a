import { Closing } from '../../../worker/closing.ts';
import type { ShownNotice } from '../../contract/notices.ts';
import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import type { DeadNotice, DeadNoticePlace } from '../../store/notices/notice-store.ts';
import type { Store } from '../../store/store.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { processOutput, withProgress } from '../command-output.ts';
import { connected, connectStore, type InFolder } from '../connect-folder.ts';
import { loadDataConverter } from '../environment/data-converter.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

/** Rows that are read at a time. */
const PAGE = 500;

/** The shortest end of an id that may name it, so that no other notice is meant. */
const FEWEST_CHARACTERS = 4;

interface ListNoticesOptions {
  app?: string;
  limit: number;
  /** Goes on after this one, or after this `next` of a page. */
  after?: string;
}

/** `holdfast notices list`: what nobody could be told, the oldest first. */
export async function listNotices(
  options: InFolder<ListNoticesOptions>,
  output = processOutput(),
): Promise<void> {
  const { app, limit, after } = options;
  await connected(connectStore, options, output, async (store) => {
    const place = after === undefined ? undefined : await placeOf(store, after);
    const list = { limit: limit + 1, ...defined({ app, after: place }) };
    const found = await withProgress(output, 'reading notices', store.notices.listDeadNotices(list));
    const notices = found.slice(0, limit);
    const [last] = notices.slice(-1);
    const next = found.length > limit && last !== undefined ? shownPlace(last) : undefined;
    if (options.json) return output.json({ notices: notices.map(shownNotice), ...defined({ next }) });
    if (last === undefined) {
      return output.note(after === undefined ? 'no notice was given up' : 'no others were given up');
    }
    const rows = notices.map((notice) => [
      shortId(notice),
      ago(notice.diedAt),
      visibleExcerpt(notice.app, 40),
      visibleExcerpt(notice.notifier, 40),
      notice.why,
      notice.requestId,
      String(notice.attempts),
      visibleExcerpt(notice.error, 80),
    ]);
    const columns = ['NOTICE', 'SINCE', 'APP', 'NOTIFIER', 'WHY', 'REQUEST', { right: 'TRIES' }, 'PROBLEM'];
    for (const line of tableLines(columns, rows)) output.line(line);
    if (next !== undefined) output.note(`there are more: --after ${next}`);
    output.note('holdfast notices resend NOTICE tells it again, holdfast notices drop NOTICE forgets it');
  });
}

/** Without what the request holds. */
function shownNotice({ input: _input, session: _session, ...notice }: DeadNotice): ShownNotice {
  return { notice: shortId(notice), ...notice };
}

const PLACE = /^(\d{1,15}):([\w-]+)$/;

/** The end of a page: the next page needs no notice there, which may be gone by then, or have died again. */
function shownPlace({ diedAt, noticeId }: DeadNoticePlace): string {
  return `${diedAt}:${Buffer.from(noticeId).toString('base64url')}`;
}

/**
 * The place where the list goes on: after the end of a page, or after a notice.
 *
 * @throws CliError where it is neither.
 */
async function placeOf(store: Pick<Store, 'notices'>, argument: string): Promise<DeadNoticePlace> {
  const [, diedAt, noticeId] = PLACE.exec(argument) ?? [];
  if (diedAt === undefined || noticeId === undefined) return await namedNotice(store, argument);
  return { diedAt: Number(diedAt), noticeId: Buffer.from(noticeId, 'base64url').toString() };
}

/** `holdfast notices drop`: nobody need be told any more. */
export async function dropNotice(
  argument: string,
  options: InFolder,
  output = processOutput(),
): Promise<void> {
  await connected(connectStore, options, output, async (store) => {
    const notice = await namedNotice(store, argument);
    await withProgress(output, 'dropping', store.notices.dropDeadNotice(notice));
    if (options.json) output.json(shownNotice(notice));
    else output.line(`${shortId(notice)} is dropped`);
  });
}

interface ResendNoticesOptions {
  /** In place of a notice: each that was given up. */
  all?: boolean;
  /** With `all`: of this app. */
  app?: string;
}

/** `holdfast notices resend`: a worker tells it again, or all of them, for as long as its notifier tries. */
export async function resendNotice(
  argument: string | undefined,
  options: InFolder<ResendNoticesOptions>,
  output = processOutput(),
): Promise<void> {
  const { folder, env, json, all, app } = options;
  if ((argument === undefined) !== (all === true)) throw new UsageError('name one notice, or say --all');
  if (app !== undefined && !all) throw new UsageError('--app goes with --all');
  const closing = new Closing();
  try {
    const store = await connectStore({ folder, env, onProgress: output.note }, closing);
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
      ...defined({ app, after }),
    });
    for (const notice of page) all.set(notice.noticeId, notice);
    if (page.length < PAGE) return [...all.values()];
    after = page.at(-1);
  }
}

/** By which it is shown: its request's session is long. */
function shortId({ noticeId }: Pick<DeadNotice, 'noticeId'>): string {
  return noticeId.slice(noticeId.lastIndexOf('/') + 1);
}

/**
 * The notice of this id, or of the only one that ends so.
 *
 * @throws CliError where there is none, or several.
 */
async function namedNotice(store: Pick<Store, 'notices'>, argument: string): Promise<DeadNotice> {
  const whole = await store.notices.findDeadNotice(argument);
  if (whole !== undefined) return whole;
  if (argument.length < FEWEST_CHARACTERS) {
    throw new UsageError(`name a notice by ${FEWEST_CHARACTERS} characters of the end of its id, or more`);
  }
  const [found, other] = await store.notices.deadNoticesNamed(argument);
  if (found === undefined) {
    throw new UsageError(
      `there is no notice ${argument}: holdfast notices list shows those that were given up`,
    );
  }
  if (other === undefined) return found;
  throw new UsageError(
    `several notices end in ${argument}: name one by more of its id, which --json lists whole`,
  );
}
