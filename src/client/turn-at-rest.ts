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
  /** Requests that were answered, and whose answer nobody has confirmed: they are still told of as waiting. */
  answered?: ReadonlySet<string>;
  /** It may be queued: one that another turn keeps waiting, which waits for people itself, is at rest as well. */
  mayBeBehind?: boolean;
}

/** Resolves once a turn waits for people, and for nothing else; never where it ends before. */
export async function whenAtRest(
  api: HoldfastApi,
  { session, invocationId, answered = new Set(), mayBeBehind = false }: WatchedTurn,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
    const status = await statusOf(api, session);
    signal.throwIfAborted();
    const isMeant = mayBeBehind || status?.invocationId === invocationId;
    if (status !== undefined && isMeant && waitsForPeople(status, answered)) return;
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

function waitsForPeople({ status, running, waiting }: TurnStatus, answered: ReadonlySet<string>): boolean {
  if (status === 'waiting_job' || !status.startsWith('waiting_') || running.length > 0) return false;
  return waiting.every(({ requestId }) => !answered.has(requestId));
}
