import { setTimeout } from 'node:timers/promises';
import type { TurnStatus } from '../protocol/turn.ts';
import type { SessionNames } from '../store/store.ts';
import type { HoldfastApi } from './holdfast-api.ts';

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
  /** A turn that waits for jobs, and for people perhaps, is at rest as well: it goes on when others say so. */
  orForJobs?: boolean;
  /** Milliseconds until the first look. */
  delay?: number;
  /** It may be queued: one that another turn keeps waiting, which waits for people itself, is at rest as well. */
  mayBeBehind?: boolean;
}

/** Resolves once a turn waits for people, and nothing of it runs; never where it ends before. */
export async function whenAtRest(
  api: HoldfastApi,
  { session, invocationId, mayBeBehind = false, delay = 0, ...watched }: WatchedTurn,
  signal: AbortSignal,
): Promise<void> {
  if (delay > 0) await setTimeout(delay, undefined, { signal });
  for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
    const status = await statusOf(api, session);
    signal.throwIfAborted();
    const isMeant = mayBeBehind || status?.invocationId === invocationId;
    if (status !== undefined && isMeant && isAtRest(status, watched)) return;
    await setTimeout(pause, undefined, { signal });
  }
}

async function statusOf(api: HoldfastApi, session: SessionNames): Promise<TurnStatus | undefined> {
  try {
    return await api.status(session);
  } catch {
    // Who follows the turn learns of what lasts; what passes, an absent worker for one, says nothing of how it stands.
    return undefined;
  }
}

function isAtRest(
  { status, running, waiting, jobs = [] }: TurnStatus,
  { answered = new Set(), orForJobs = false }: Pick<WatchedTurn, 'answered' | 'orForJobs'>,
): boolean {
  if (!status.startsWith('waiting_') || running.length > 0) return false;
  if (status === 'waiting_job' && !orForJobs) return false;
  return (
    waiting.every(({ requestId }) => !answered.has(requestId)) &&
    jobs.every(({ callId }) => !answered.has(callId))
  );
}
