import { setTimeout } from 'node:timers/promises';
import type { TurnStatus } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { HoldfastApi } from '../holdfast-api.ts';

/** Between looks at a turn, milliseconds. */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 500;

interface WatchedTurn {
  session: SessionNames;
  invocationId: string;
  /**
   * Requests, and calls that wait for jobs, that were answered, and whose answer nobody has confirmed: they are still told of as
   * waiting.
   */
  answered?: ReadonlySet<string>;
  /**
   * The requests that a message answers, by the ids that it names, with the votes that were there before: the agents below the root
   * whose requests and jobs these are may not have said yet that they go on.
   */
  replied?: ReadonlyMap<string, number>;
  /** A turn that waits for jobs, and for people perhaps, is at rest as well: it goes on when others say so. */
  orForJobs?: boolean;
  /** Milliseconds until the first look. */
  delay?: number;
  /** It may be queued: one that another turn keeps waiting, which waits for people itself, is at rest as well. */
  mayBeBehind?: boolean;
}

/**
 * Resolves once a turn waits for people, and nothing of it runs; never where it ends before. With the status of the turn that
 * waits: with `mayBeBehind` that may be another one.
 */
export async function whenAtRest(
  api: HoldfastApi,
  { session, invocationId, mayBeBehind = false, delay = 0, replied = new Map(), ...watched }: WatchedTurn,
  signal: AbortSignal,
): Promise<TurnStatus> {
  if (delay > 0) await setTimeout(delay, undefined, { signal });
  for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
    const status = await statusOf(api, session);
    signal.throwIfAborted();
    const isMeant = mayBeBehind || status?.invocationId === invocationId;
    if (status !== undefined && isMeant && isAtRest(status, watched)) {
      if (!isBelow(status) || (await isUnanswered(api, session, status, replied))) return status;
      signal.throwIfAborted();
    }
    await setTimeout(pause, undefined, { signal });
  }
}

async function statusOf(api: HoldfastApi, session: SessionNames): Promise<TurnStatus | undefined> {
  try {
    return await api.status(session);
  } catch {
    // Followers see failures that last. A passing one, as an absent worker, doesn’t change how the turn stands.
    return undefined;
  }
}

function isAtRest(
  { status, waiting, jobs = [] }: TurnStatus,
  { answered = new Set(), orForJobs = false }: Pick<WatchedTurn, 'answered' | 'orForJobs'>,
): boolean {
  // Of calls that run it is no wait, but where an agent below waits which the call has run.
  if (!status.startsWith('waiting_')) return false;
  if (status === 'waiting_job' && !orForJobs) return false;
  return (
    waiting.every(({ requestId }) => !answered.has(requestId)) &&
    jobs.every(({ callId }) => !answered.has(callId))
  );
}

/** Whether agents below the root may be all that waits. */
function isBelow({ waiting, jobs = [], children = [] }: TurnStatus): boolean {
  const isWaiting = children.some(({ status }) => status.startsWith('waiting_'));
  return isWaiting && waiting.length === 0 && jobs.length === 0;
}

async function isUnanswered(
  api: HoldfastApi,
  session: SessionNames,
  { status }: TurnStatus,
  replied: ReadonlyMap<string, number>,
): Promise<boolean> {
  if (replied.size === 0) return true;
  try {
    if (status === 'waiting_job') {
      const jobs = await api.jobs.list(session);
      return jobs.some(({ mode, callId }) => mode === 'parked' && !replied.has(callId));
    }
    const requests = await api.approvals.list(session);
    return requests.some(({ requestId, callId, votes }) => {
      const before = replied.get(requestId) ?? replied.get(callId);
      return before === undefined || votes.length > before;
    });
  } catch {
    // As with the status: what lasts is learned by who follows the turn.
    return false;
  }
}
