import type { Gate } from '../../src/protocol/gate.ts';
import type { StepOutcome } from '../../src/protocol/step.ts';
import type { Store } from '../../src/store/store.ts';

/**
 * A recorded step for a workflow that wasn't there when people answered: the one before was terminated, or reset. Those who have
 * answered, or approved as one of several, are not asked again.
 */
export async function withEndedGates(store: Store, outcome: StepOutcome): Promise<StepOutcome> {
  if (outcome.kind !== 'calls') return outcome;
  const { session } = outcome;
  const calls = await Promise.all(
    outcome.calls.map(async (call) =>
      call.gate === undefined ? call : { ...call, gate: await knownGate(store, session, call.gate) },
    ),
  );
  return { ...outcome, calls };
}

/** A request that may have been made, and answered, before. */
export async function knownGate(store: Store, session: string, gate: Gate): Promise<Gate> {
  const { status = 'pending', votes = [] } = (await store.findRequest(session, gate.requestId)) ?? {};
  if (status !== 'pending') return { ...gate, ended: status };
  const known = votes.flatMap(({ by: { principal, verified }, confirmed, of }) =>
    confirmed && of !== undefined ? [{ by: { principal, verified }, of }] : [],
  );
  return known.length === 0 ? gate : { ...gate, votes: known };
}
