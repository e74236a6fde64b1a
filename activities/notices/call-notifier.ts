import { setTimeout } from 'node:timers/promises';
import { linkUrl, signApprovalLink } from '../../src/approvals/approval-link.ts';
import { NoteRefused } from '../../src/approvals/notice-failed.ts';
import type { NoticeContext, Notifier } from '../../src/approvals/notifier.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import type { NotifyInput } from '../../src/protocol/gate.ts';
import { defined } from '../../src/protocol/json.ts';
import { kindOf } from '../../src/schema/kind-of.ts';
import { jsonText } from '../../src/store/engine/json-text.ts';
import type { Attempt } from '../attempt.ts';
import { inTime } from '../deadline.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger } from '../logging.ts';
import { problemOf } from './notice-failure.ts';
import { endedRequest, notifiedRequest } from './notified-request.ts';

/** Milliseconds that one notifier may take. */
const NOTIFIER_TIME = 60_000;

/** Milliseconds between two looks whether an end is recorded: twice as long after each. */
const FIRST_LOOK = 50;
const LAST_LOOK = 2_000;

export interface NoticeToSend {
  input: NotifyInput;
  /** Those of its requests that the store has. */
  rows: readonly ApprovalRow[];
  /** When the notice was first due, milliseconds since the epoch. */
  since: number;
  /** Called just before the notifier is, when the store has done its part. */
  asking?: () => Promise<void>;
}

/**
 * Rows of the requests that a notice is about, without those whose session was deleted, and those of other apps and users: a workflow
 * that somebody has started by hand could name any, and have the notifiers of its app told of them.
 */
export async function rowsOf(
  { store }: Pick<ActivityDependencies, 'store'>,
  { session, requestIds, app, userId, sessionId }: NotifyInput,
): Promise<ApprovalRow[]> {
  const ids = [...new Set(requestIds)];
  const rows = await Promise.all(ids.map((requestId) => store.approvals.findRequest(session, requestId)));
  const known = rows.filter((row) => row !== undefined);
  return known.filter((row) => row.app === app && row.userId === userId && row.sessionId === sessionId);
}

/**
 * Has one notifier tell people, once. The notifier doesn't get the requests that it needn't tell any more.
 *
 * @throws the notifier's error, or an error after too long a time.
 */
export async function callNotifier(
  dependencies: ActivityDependencies,
  notifier: Notifier,
  notice: NoticeToSend,
  current: Attempt,
): Promise<void> {
  const begunAt = await dependencies.store.now();
  const { since } = notice;
  const { session, why } = notice.input;
  const tell = why === 'ended' ? notifyEnded : notifyOpen;
  const work = (over: AbortSignal) => {
    const signal = AbortSignal.any([current.signal, over]);
    const context = { notifier: notifier.name, session, since, signal, begunAt };
    return tell(dependencies, notifier, notice, noticeContext(dependencies, context));
  };
  const late = () => new Error(`no answer within ${NOTIFIER_TIME} ms`);
  await inTime(work, { time: NOTIFIER_TIME, late, current });
}

async function notifyOpen(
  dependencies: ActivityDependencies,
  notifier: Notifier,
  { input, rows, asking }: NoticeToSend,
  context: NoticeContext,
): Promise<void> {
  const { session, why } = input;
  if (why === 'ended') return;
  const { store, transcriptUrl } = dependencies;
  const known = why === 'escalated' ? await recordedRows(dependencies, input, rows, context.signal) : rows;
  const pending = known.filter(({ status }) => status === 'pending');
  const mayNotify = async ({ requestId }: ApprovalRow) =>
    notifier.ended === undefined ||
    (await store.notices.beginNotifying({
      notifier: notifier.name,
      requestId,
      session,
      time: NOTIFIER_TIME,
    }));
  const begun = await Promise.all(pending.map(mayNotify));
  const told = pending
    .filter((_row, index) => begun[index])
    .map((row) => notifiedRequest(row, transcriptUrl));
  try {
    // Each notifier gets a copy: it may change it.
    if (told.length > 0) {
      await asking?.();
      await notifier.notify(structuredClone(told), why, context);
    }
  } finally {
    if (notifier.ended !== undefined) {
      const names = told.map(({ requestId }) => ({ notifier: notifier.name, requestId }));
      // A failure of this record is no failure of the notifier: after some time the store takes the notice to be over.
      const ended = await Promise.allSettled(names.map((name) => store.notices.endNotifying(name)));
      const failure = ended.find((each) => each.status === 'rejected');
      if (failure !== undefined) {
        const { app, sessionId, requestIds: requests } = input;
        const problem = problemOf(dependencies, failure.reason);
        callLogger(dependencies, { app, sessionId }).warn('the end of a notification was not recorded', {
          requests,
          problem,
        });
      }
    }
  }
}

async function notifyEnded(
  dependencies: ActivityDependencies,
  notifier: Notifier,
  { input, rows, asking }: NoticeToSend,
  context: NoticeContext,
): Promise<void> {
  if (notifier.ended === undefined || rows.length === 0) return;
  const { store, transcriptUrl } = dependencies;
  const recorded = await recordedRows(dependencies, input, rows, context.signal);
  const ended = recorded.flatMap((row) => endedRequest(row, transcriptUrl) ?? []);
  const { session } = input;
  const free = await Promise.all(
    ended.map(({ requestId }) =>
      store.notices.beginNotifyingEnd({ notifier: notifier.name, requestId, session }),
    ),
  );
  if (free.includes(false))
    throw new HoldfastError('HOLDFAST_NOTIFIER_BUSY', `the notifier ${notifier.name} is being told of it`);
  if (ended.length === 0) return;
  await asking?.();
  await notifier.ended(structuredClone(ended), context);
}

/** The end is recorded with what comes of it: the start of the tool, the end of the turn. Only the store counts. */
async function recordedRows(
  dependencies: ActivityDependencies,
  input: NotifyInput,
  rows: readonly ApprovalRow[],
  signal: AbortSignal,
): Promise<readonly ApprovalRow[]> {
  let known = rows;
  for (let wait = FIRST_LOOK; !known.every((row) => isRecorded(row, input.why)); wait *= 2) {
    if (wait > LAST_LOOK)
      throw new HoldfastError('HOLDFAST_NOTICE_NOT_RECORDED', `the store has not heard yet: ${input.why}`);
    await setTimeout(wait, undefined, { signal });
    known = await rowsOf(dependencies, input);
  }
  return known;
}

function isRecorded({ status, history }: ApprovalRow, why: NotifyInput['why']): boolean {
  if (status !== 'pending' || why === 'opened') return true;
  return why === 'escalated' && history.some(({ kind }) => kind === 'escalated');
}

const MOST_NOTE_BYTES = 16 * 1024;
const LONGEST_PLACE = 500;

/** The context of one notifier, with its own notes. `begunAt`: when it is asked, by the store's clock. */
function noticeContext(
  { store, credentialKeys, publicUrl }: ActivityDependencies,
  {
    notifier,
    session,
    since,
    signal,
    begunAt,
  }: { notifier: string; session: string; begunAt: number } & Pick<NoticeContext, 'since' | 'signal'>,
): NoticeContext {
  return {
    since,
    signal,
    now: () => store.now(),
    linkFor({ requestId, until }, approver) {
      const address = publicUrl();
      if (address === undefined || credentialKeys === undefined) return undefined;
      return linkUrl(
        address,
        signApprovalLink(
          credentialKeys,
          { ...{ session, requestId, approver }, ...defined({ expiresAt: until }) },
          begunAt,
        ),
      );
    },
    kept: (requestId) => store.notices.noteOf({ notifier, requestId }),
    async keep(requestId, value, place) {
      const bytes = Buffer.byteLength(jsonText(value));
      if (value === undefined || bytes > MOST_NOTE_BYTES) {
        const got = value === undefined ? kindOf(value) : `${bytes} bytes`;
        throw new NoteRefused(`value: expected JSON of at most ${MOST_NOTE_BYTES} bytes, got ${got}`);
      }
      if (place !== undefined && (place === '' || place.length > LONGEST_PLACE)) {
        throw new NoteRefused(`place: expected text of 1 to ${LONGEST_PLACE} characters`);
      }
      const note = { notifier, session, requestId, value };
      if (await store.notices.saveNote({ ...note, ...defined({ place }) })) return;
      throw new NoteRefused('place: another request has it, or its session was deleted');
    },
  };
}
