import type { ActingAgent, CallOfAgent, ToolOfAgent } from '../src/protocol/agent-run.ts';
import { canonicalJson } from '../src/protocol/canonical-json.ts';
import { asStored } from '../src/store/engine/json-text.ts';
import type { Store } from '../src/store/store.ts';

/** What inputs of activities say of an agent's place, and of the session that shows whether it is so. */
export interface ClaimedPlace extends Pick<ActingAgent, 'root' | 'within'> {
  session?: string;
  /** First step of a tool's agent, whose session there may not be yet. */
  call?: Pick<CallOfAgent, 'session' | 'callKey'>;
  /** Where no step has answered yet. */
  identity?: { app: string; userId: string; sessionId: string };
}

/**
 * The way to an agent, as far as it is believed: tools are made again only as the call that runs the agent was planned with. Anybody's
 * input could have a factory called with any arguments. What isn't believed is looked for among the agent's own tools, like any other.
 */
export async function believedPlace(
  store: Pick<Store, 'turns' | 'sessions'>,
  claimed: ClaimedPlace,
): Promise<readonly ToolOfAgent[] | undefined> {
  const { within } = claimed;
  if (within?.some(({ made }) => made !== undefined) !== true) return within;
  const planned = await planningCall(store, claimed);
  if (canonicalJson(planned?.runs?.within) === canonicalJson(asStored(within))) return within;
  return within.map(({ agent, tool }) => ({ agent, tool }));
}

async function planningCall(
  store: Pick<Store, 'turns' | 'sessions'>,
  { session, call, identity }: ClaimedPlace,
) {
  if (session !== undefined) return await store.turns.findPlanningCall(session);
  if (call !== undefined) return await store.turns.findPlannedCall(call);
  const found = identity && (await store.sessions.find(identity));
  return found && (await store.turns.findPlanningCall(found.session));
}
