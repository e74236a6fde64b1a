import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import { hasCode } from '../../contract/error.ts';
import type { TurnResult, TurnStatus } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';

/** How a turn stands when its caller has waited long enough. */
export type Polled = { result: TurnResult } | { status?: TurnStatus; reason?: string };

/** How long a worker may take to say how the turn stands, milliseconds. */
const STATUS_TIMEOUT = 1_000;

/** How long the result may take of a turn that doesn't run, milliseconds. */
const GRACE = 1_000;

/**
 * Waits for a turn's result, and asks how it stands where it isn't there in time. Without waiting, a turn that has ended is
 * answered with its result nevertheless.
 *
 * @param wait milliseconds.
 * @param signal ends the waiting; the turn goes on.
 * @throws what the turn's `result` throws.
 */
export async function pollTurn(
  client: HoldfastApi,
  names: SessionNames,
  turn: TurnHandle,
  wait: number,
  signal: AbortSignal,
): Promise<Polled> {
  const stop = new AbortController();
  const result = turn
    .result({ signal: AbortSignal.any([signal, stop.signal]) })
    .then((value) => ({ result: value }));
  try {
    const waited = wait === 0 ? undefined : await within(result, wait, signal);
    if (waited !== undefined) return waited;
    const standing = await Promise.race([result, statusOf(client, names)]);
    if ('result' in standing || runsIn(standing, turn)) return standing;
    return (await within(result, GRACE, signal)) ?? standing;
  } catch (error) {
    if (signal.aborted) return {};
    throw error;
  } finally {
    stop.abort();
    result.catch(() => undefined);
  }
}

function runsIn({ status, reason }: { status?: TurnStatus; reason?: string }, turn: TurnHandle): boolean {
  return reason !== undefined || (status?.status === 'running' && status.invocationId === turn.invocationId);
}

async function statusOf(
  client: HoldfastApi,
  names: SessionNames,
): Promise<{ status?: TurnStatus; reason?: string }> {
  try {
    const status = await client.status(names, { timeout: STATUS_TIMEOUT });
    return status === undefined ? {} : { status };
  } catch (error) {
    if (hasCode(error, 'HOLDFAST_NO_ANSWER')) return { reason: error.message };
    throw error;
  }
}

/** Undefined after the time is over. */
async function within<T>(promise: Promise<T>, time: number, signal: AbortSignal): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const end = () => late.resolve(undefined);
  const timer = setTimeout(end, time);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
