import { activityInfo } from '@temporalio/activity';
import { isLlmAgent } from '../../src/agents/llm-agent.ts';
import { isRoutedLlm } from '../../src/agents/routed-llm.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import { type BaseLlm, limitKeyOf } from '../../src/models/base-llm.ts';
import type { CallModelInput } from '../../src/protocol/step.ts';
import type { TurnSlot } from '../../src/store/turns/turn-store.ts';
import { retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { type Deployment, settingsOf } from '../deployment.ts';
import { type CallPlace, callLogger } from '../logging.ts';
import type { RateLimitedModels } from './rate-limited-models.ts';
import { RATE_LIMITED, type StepFailure } from './step-failures.ts';
import type { StepParts } from './step-parts.ts';

/** Those that wait come back one after another: within a fifth of the wait, five seconds at most. */
const SPREAD = 0.2;
const LEAST_SPREAD = 200;
const MOST_SPREAD = 5_000;

/** A step that waits longer is opened first: it may have to end without its model. */
const LONGEST_UNOPENED = 60_000;

/** The model is not asked: its provider has told somebody to wait. */
export class ModelRateLimited extends HoldfastError {
  override readonly name = 'ModelRateLimited';
  readonly key: string;
  readonly wait: number;

  constructor(key: string, wait: number) {
    super(
      RATE_LIMITED,
      `waits for the rate limit of ${key}, until ${new Date(Date.now() + wait).toISOString()}`,
    );
    this.key = key;
    this.wait = wait;
  }
}

/**
 * The key under which workers share a model's rate limit. A routed model shares none: the limit is that of one of its routes, and another
 * one may be asked.
 */
export function sharedKeyOf(model: BaseLlm, requested?: string): string | undefined {
  return isRoutedLlm(model) ? undefined : limitKeyOf(model, requested);
}

/** @throws ModelRateLimited */
export function checkRateLimit(rateLimited: RateLimitedModels, key: string | undefined): void {
  if (key === undefined) return;
  const wait = rateLimited.waitOf(key);
  if (wait > 0) throw new ModelRateLimited(key, wait);
}

/** Milliseconds until the next attempt after a limit. */
export function delayAfterLimit(wait: number): number {
  const spread = Math.min(Math.max(wait * SPREAD, LEAST_SPREAD), MOST_SPREAD);
  return Math.ceil(wait + Math.random() * spread);
}

/** Where a step needn't be opened to know that its model can't be asked: nothing but the model could answer it. */
export function limitBeforeOpening(
  rateLimited: RateLimitedModels,
  { roots, plugins }: Deployment,
  { agent: name, root = name, within }: Pick<CallModelInput, 'agent' | 'root' | 'within'>,
): ModelRateLimited | undefined {
  if (name === undefined || root === undefined || within !== undefined) return undefined;
  const agent = roots.get(root)?.findAgent(name);
  if (!isLlmAgent(agent) || agent.canonicalBeforeModelCallbacks.length > 0) return undefined;
  // Only the store knows the app.
  if ([...plugins.values()].some((ofApp) => ofApp.has('beforeModelCallback'))) return undefined;
  const key = sharedKeyOf(agent.canonicalModel);
  if (key === undefined) return undefined;
  const wait = rateLimited.waitOf(key);
  return wait === 0 || wait > LONGEST_UNOPENED ? undefined : new ModelRateLimited(key, wait);
}

/** Has the step tried again when its model may be asked. The attempt doesn't count as one of unknown outcome. */
export async function rateLimitedStep(step: StepParts, limited: ModelRateLimited): Promise<Error> {
  const { dependencies, input, opened, place } = step;
  await dependencies.store.turns.recordStepFailure({
    session: opened.session,
    runKey: input.runKey,
    step: input.step,
    error: limited.message,
    counts: false,
    attempt: opened.attempt,
  });
  return retryAfterLimit(dependencies, { ...place, agent: step.agent.name }, limited);
}

/** The failure that Temporal retries, which operators see as the pending activity's. */
export function retryAfterLimit(
  dependencies: ActivityDependencies,
  place: CallPlace,
  { key, wait, message }: ModelRateLimited,
): Error {
  const { app = '', agent = '' } = place;
  dependencies.telemetry.metrics.limitWaited({ app, agent, kind: 'model', name: key });
  callLogger(dependencies, place).info(message);
  return retryLater(RATE_LIMITED, message, { delay: delayAfterLimit(wait), benign: true });
}

/** A provider's refusal is told to all workers, which then wait as this step does. */
export async function sharedLimit(
  step: StepParts,
  key: string | undefined,
  failure: StepFailure,
): Promise<StepFailure> {
  const { dependencies, rateLimited } = step;
  if (key === undefined || failure.code !== RATE_LIMITED || failure.modelCalls === 0 || !failure.retryable)
    return failure;
  const { retryAfterMs } = failure;
  const wait = await dependencies.store.turns.limitModel({ key, retryAfterMs });
  rateLimited.learn({ [key]: wait });
  return { ...failure, retryAfterMs: delayAfterLimit(wait) };
}

/** The first answer after a limit: the next refusal is the first in a row again. The step doesn't wait for this. */
export function hasAnswered({ dependencies, rateLimited, place }: StepParts, key: string | undefined): void {
  if (key === undefined || !rateLimited.answered(key)) return;
  dependencies.store.turns.modelAnswered(key).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    callLogger(dependencies, place).warn('the answer of a rate-limited model was not recorded', { reason });
  });
}

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
  const slot = await dependencies.store.turns.takeSlot({ app, userId, sessionId, invocationId, quota });
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
  await store.turns.freeSlot({ app, userId, sessionId, invocationId });
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
