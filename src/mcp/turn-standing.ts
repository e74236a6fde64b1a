import { setTimeout } from 'node:timers/promises';
import { askedRequests } from '../client/approvals/asked-requests.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { TurnHandle } from '../client/turns/turn-handle.ts';
import type { ApprovalRow } from '../contract/requests.ts';
import type { Event } from '../events/event.ts';
import type { TurnResult } from '../protocol/turn.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';

/** How a turn stands when nobody waits for it any longer. */
export type TurnStanding = { events: readonly Event[] } & (
  | { is: 'ended'; result: TurnResult }
  | { is: 'waiting'; requests: readonly ApprovalRow[] }
  | { is: 'working' }
);

/** A turn that has ended. */
export type EndedTurn = Extract<TurnStanding, { is: 'ended' }>;

export interface FollowTurn {
  /** Milliseconds to wait. */
  time: number;
  /** Ends the waiting with its reason. */
  signal: AbortSignal;
  /** Ends the waiting as the time does. */
  ending?: AbortSignal | undefined;
  /** Whether these requests end the waiting, while it lasts. All do by default. */
  stopsAt?: (requests: readonly ApprovalRow[]) => boolean;
  /** Hears of each event, those of the agents below included. */
  onEvent?: (event: Event) => void;
}

/**
 * Follows a turn until it has ended, waits for people, or the time is over.
 *
 * @throws the signal's reason; what `result` of the turn throws.
 */
export async function standingOf(
  api: HoldfastApi,
  { app, userId }: SessionNames,
  turn: TurnHandle,
  { time, signal, ending, stopsAt = () => true, onEvent }: FollowTurn,
): Promise<TurnStanding> {
  const late = new AbortController();
  const until = ending === undefined ? late.signal : AbortSignal.any([late.signal, ending]);
  const stop = AbortSignal.any([signal, until]);
  const waited = setTimeout(time, undefined, { signal: stop, ref: false }).then(
    () => late.abort(),
    () => undefined,
  );
  const events: Event[] = [];
  try {
    for await (const item of turn.events({ signal: stop })) {
      if (item.holdfast === undefined) events.push(item.event);
      onEvent?.(item.event);
      if (askedRequests(item).length === 0) continue;
      const requests = await pendingRequests(api, { app, userId }, turn);
      if (requests.length > 0 && stopsAt(requests)) return { is: 'waiting', requests, events };
    }
    return { is: 'ended', result: await turn.result({ signal: stop }), events };
  } catch (error) {
    signal.throwIfAborted();
    if (!until.aborted) throw error;
    if (ending?.aborted) return { is: 'working', events };
    const requests = await pendingRequests(api, { app, userId }, turn);
    return requests.length > 0 ? { is: 'waiting', requests, events } : { is: 'working', events };
  } finally {
    late.abort();
    await waited;
  }
}

/** Requests that a turn and the agents below it wait for. */
export async function pendingRequests(
  { approvals }: Pick<HoldfastApi, 'approvals'>,
  { app, userId }: Pick<SessionNames, 'app' | 'userId'>,
  { workflowId: rootWorkflowId }: TurnHandle,
): Promise<readonly ApprovalRow[]> {
  return await approvals.list({ app, userId, rootWorkflowId });
}
