import { isLlmAgent } from '../../src/agents/is-llm-agent.ts';
import { limitKeyOf } from '../../src/models/limit-key.ts';
import type { CallModelInput } from '../../src/protocol/step.ts';
import { retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import type { Deployment } from '../deployment.ts';
import { type CallPlace, callLogger } from '../logging.ts';
import type { RestingModels } from './resting-models.ts';
import type { StepFailure } from './step-failures.ts';
import type { StepParts } from './step-parts.ts';

const RATE_LIMITED = 'HOLDFAST_MODEL_RATE_LIMITED';

/** Those that wait come back one after another: within a fifth of the wait, five seconds at most. */
const SPREAD = 0.2;
const LEAST_SPREAD = 200;
const MOST_SPREAD = 5_000;

/** A step that waits longer is opened first: it may have to end without its model. */
const LONGEST_UNOPENED = 60_000;

/** The model is not asked: its provider has told somebody to wait. */
export class ModelRests extends Error {
  override readonly name = 'ModelRests';
  readonly code = RATE_LIMITED;
  readonly key: string;
  /** Milliseconds. */
  readonly rest: number;

  constructor(key: string, rest: number) {
    super(`waits for the rate limit of ${key}, until ${new Date(Date.now() + rest).toISOString()}`);
    this.key = key;
    this.rest = rest;
  }
}

/** @throws ModelRests */
export function checkRest(resting: RestingModels, key: string): void {
  const rest = resting.rest(key);
  if (rest > 0) throw new ModelRests(key, rest);
}

/** Milliseconds until the next attempt behind a limit. */
export function behindLimit(rest: number): number {
  const spread = Math.min(Math.max(rest * SPREAD, LEAST_SPREAD), MOST_SPREAD);
  return Math.ceil(rest + Math.random() * spread);
}

/** Where a step needn't be opened to know that its model can't be asked: nothing but the model could answer it. */
export function restsUnopened(
  resting: RestingModels,
  { roots, plugins }: Deployment,
  { agent: name, root = name, within }: Pick<CallModelInput, 'agent' | 'root' | 'within'>,
): ModelRests | undefined {
  if (name === undefined || root === undefined || within !== undefined) return undefined;
  const agent = roots.get(root)?.findAgent(name);
  if (!isLlmAgent(agent) || agent.canonicalBeforeModelCallbacks.length > 0) return undefined;
  // Which app it is only the store knows.
  if ([...plugins.values()].some((ofApp) => ofApp.has('beforeModelCallback'))) return undefined;
  const key = limitKeyOf(agent.canonicalModel);
  const rest = resting.rest(key);
  return rest === 0 || rest > LONGEST_UNOPENED ? undefined : new ModelRests(key, rest);
}

/** Has the step tried again when its model may be asked; the attempt is none of unknown outcome. */
export async function restedStep(step: StepParts, rests: ModelRests): Promise<Error> {
  const { dependencies, input, opened, place } = step;
  await dependencies.store.recordStepFailure({
    session: opened.session,
    runKey: input.runKey,
    step: input.step,
    error: rests.message,
    counts: false,
    attempt: opened.attempt,
  });
  return toldToRest(dependencies, { ...place, agent: step.agent.name }, rests);
}

/** The failure that Temporal retries, which operators see as the pending activity's. */
export function toldToRest(
  dependencies: ActivityDependencies,
  place: CallPlace,
  { key, rest, message }: ModelRests,
): Error {
  const { app = '', agent = '' } = place;
  dependencies.telemetry.metrics.limitWaited({ app, agent, kind: 'model', name: key });
  callLogger(dependencies, place).info(message);
  return retryLater(RATE_LIMITED, message, { delay: behindLimit(rest), benign: true });
}

/** A provider's refusal is told to all workers, which then wait as this step does. */
export async function sharedLimit(step: StepParts, key: string, failure: StepFailure): Promise<StepFailure> {
  const { dependencies, resting } = step;
  if (failure.code !== RATE_LIMITED || failure.modelCalls === 0 || !failure.retryable) return failure;
  const { retryAfterMs } = failure;
  const rest = await dependencies.store.limitModel({ key, retryAfterMs });
  resting.learn({ [key]: rest });
  return { ...failure, retryAfterMs: behindLimit(rest) };
}

/** The first answer behind a limit: the next refusal is the first in a row again. Nobody waits for that. */
export function hasAnswered({ dependencies, resting, place }: StepParts, key: string): void {
  if (!resting.answered(key)) return;
  dependencies.store.modelAnswered(key).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    callLogger(dependencies, place).warn('that a limited model has answered was not recorded', { reason });
  });
}
