import { activityInfo } from '@temporalio/activity';
import type { CallModelInput } from '../../src/protocol/step.ts';
import type { TurnSlot } from '../../src/store/store.ts';
import { retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';
import { type CallPlace, callLogger } from '../logging.ts';

const LEAST_DELAY = 1_000;
const MOST_DELAY = 5_000;

/**
 * Lets a turn begin, where its app runs turns by quota.
 *
 * @throws the failure that Temporal retries, where as many turns run as may.
 */
export async function awaitTurnSlot(
  dependencies: ActivityDependencies,
  { identity, invocationId }: CallModelInput,
  place: CallPlace,
): Promise<void> {
  if (identity === undefined) return;
  const quota = settingsOf(dependencies.deployment, identity.app).limits.runningTurns;
  if (quota === undefined) return;
  const { app, userId, sessionId } = identity;
  const slot = await dependencies.store.takeTurnSlot({ app, userId, sessionId, invocationId, quota });
  if (slot.kind === 'taken') return;
  const { perApp, perUser } = quota;
  const message = waitingText(app, slot, perApp, perUser);
  dependencies.telemetry.metrics.limitWaited({ app, agent: '', kind: 'turns', name: '' });
  callLogger(dependencies, place).debug(message);
  throw retryLater('HOLDFAST_TURN_QUOTA', message, { delay: nextTry(), benign: true });
}

/** A turn that has ended without a word in the store has no end there that would free its slot. */
export async function freeTurnSlot(
  { deployment, store }: ActivityDependencies,
  { identity, invocationId }: CallModelInput,
): Promise<void> {
  if (identity === undefined || settingsOf(deployment, identity.app).limits.runningTurns === undefined)
    return;
  const { app, userId, sessionId } = identity;
  await store.freeTurnSlot({ app, userId, sessionId, invocationId });
}

/** Names no user: everybody who may see the namespace reads it. */
function waitingText(
  app: string,
  { ofApp, ofUser }: Extract<TurnSlot, { kind: 'full' }>,
  perApp: number | undefined,
  perUser: number | undefined,
): string {
  if (perApp !== undefined && ofApp >= perApp)
    return `waits: app ${app} has ${ofApp} of ${perApp} turns running`;
  return `waits: the user has ${ofUser} of ${perUser} turns of app ${app} running`;
}

/** Milliseconds: the longer a turn has waited the less often it asks, and no two at the same time. */
function nextTry(): number {
  const longest = Math.min(LEAST_DELAY * (activityInfo().attempt + 1), MOST_DELAY);
  return Math.ceil(LEAST_DELAY + Math.random() * (longest - LEAST_DELAY));
}
