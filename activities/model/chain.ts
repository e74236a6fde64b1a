import { activityInfo } from '@temporalio/activity';
import { jsonBytes } from '../../src/contract/json-bytes.ts';
import { type CallsOfStep, placeInTree, runTermsOf } from '../../src/protocol/call-input.ts';
import { defined } from '../../src/protocol/json.ts';
import { PAYLOAD_LIMIT } from '../../src/protocol/sizes.ts';
import type {
  CallModelInput,
  FirstStep,
  InlineResult,
  StepOutcome,
  SupersededStep,
} from '../../src/protocol/step.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import type { CallPlace } from '../logging.ts';
import { callsRunInline, InlineCalls } from '../tool/inline-calls.ts';
import { callModel } from './call-model.ts';
import type { RateLimitedModels } from './rate-limited-models.ts';

/** Milliseconds after which a chain comes back to its workflow, whose history then says how far the turn has got. */
const LONGEST_CHAIN = 10_000;

/**
 * `holdfast.callModel`: a model step with those of its calls that run inline; in a chain also the steps after it, until one has to wait
 * for something that the workflow looks after.
 */
export async function runSteps(
  dependencies: ActivityDependencies,
  input: CallModelInput,
  attempt: { current: Attempt; place: CallPlace; rateLimited: RateLimitedModels },
): Promise<StepOutcome | SupersededStep> {
  const { current, place } = attempt;
  const until = performance.now() + LONGEST_CHAIN;
  const inline = new InlineCalls({ dependencies, current, place });
  let given = input;
  try {
    let outcome = await callModel(dependencies, given, attempt);
    if (outcome.kind === 'behind') return outcome;
    const first = firstStepOf(outcome);
    const stepOf = async (before: CallsOfStep, step: number) => {
      given = stepAfter(given, before, step);
      place.step = step;
      const later = await callModel(dependencies, given, attempt);
      return later.kind === 'behind' ? later : { ...later, ...first, step };
    };
    if (outcome.kind === 'calls') {
      const latest = await latestStep(dependencies, given, outcome);
      if (latest > given.step) outcome = await stepOf(outcome, latest);
    }
    while (outcome.kind === 'calls') {
      // The workflow watches the turn's time, of which it hears by this answer.
      const calls = outcome.timeLeft === undefined ? callsRunInline(outcome) : [];
      const ran = await inline.run(given, outcome, calls);
      const goesOn = performance.now() < until && hasEnded(outcome, ran) && isFree(given, outcome);
      if (!goesOn) return calls.length === 0 ? outcome : fitting({ ...outcome, ran });
      outcome = await stepOf(outcome, given.step + 1);
    }
    return outcome;
  } finally {
    inline.close();
  }
}

/** Facts of the activity's first step for the workflow. */
function firstStepOf(outcome: StepOutcome): FirstStep {
  const { searchAttributes, inbox, timeLeft, startedAt, transcript, remembers } = outcome;
  const first = { searchAttributes, inbox, timeLeft, startedAt, transcript, remembers };
  return defined(first satisfies Record<keyof FirstStep, unknown>);
}

/** The newest step that an earlier attempt of a chain has begun: what it has recorded before is not read again. */
async function latestStep(
  { store }: ActivityDependencies,
  { runKey, step }: CallModelInput,
  { chain, session }: CallsOfStep,
): Promise<number> {
  if (!chain || activityInfo().attempt === 1) return step;
  return Math.max(step, await store.turns.latestStep({ session, runKey }));
}

/** The step is over: all of its calls have responses, and none says how the turn goes on. */
function hasEnded({ calls }: CallsOfStep, ran: Record<string, InlineResult>): boolean {
  return calls.every(({ callKey }) => isPlain(ran[callKey]));
}

function isPlain(result: InlineResult | undefined): boolean {
  if (result === undefined || !('response' in result)) return false;
  const { skipSummarization, transferToAgent, escalate, detached } = result;
  return !skipSummarization && transferToAgent === undefined && !escalate && detached === undefined;
}

/** Nothing but the calls has to be waited for: no deadline that the workflow has yet to hear of, no limit of its own. */
function isFree({ ownCall, runConfig, step }: CallModelInput, outcome: CallsOfStep): boolean {
  const { chain = false, escalated, timeLeft } = outcome;
  const { maxLlmCalls = 0 } = runConfig ?? {};
  const isLast = maxLlmCalls > 0 && step >= maxLlmCalls;
  return chain && ownCall === undefined && !escalated && timeLeft === undefined && !isLast;
}

/** A later step of the run, as its workflow would ask for it. */
function stepAfter(given: CallModelInput, outcome: CallsOfStep, step: number): CallModelInput {
  const { v, invocationId, runKey, traceparent, handedOnBy, runConfig, workflowId } = given;
  const { session, seq, agent, root = given.root, startedAt = given.fence.startedAt } = outcome;
  return {
    ...{ v, session, invocationId, runKey, step, seq, agent },
    ...{ fence: { ...given.fence, startedAt } },
    ...defined({ traceparent, handedOnBy, runConfig, workflowId }),
    ...defined({ ...placeInTree({ ...given, root }), ...runTermsOf(given) }),
  };
}

/** In a result that would be too large, calls are left out about which the workflow has nothing to do. */
function fitting(outcome: CallsOfStep & { ran: Record<string, InlineResult> }): CallsOfStep {
  if (jsonBytes(outcome) <= PAYLOAD_LIMIT) return outcome;
  const { calls, ran } = outcome;
  const isLeft = (callKey: string) => !isPlain(ran[callKey]);
  return {
    ...outcome,
    calls: calls.filter(({ callKey }) => isLeft(callKey)),
    ran: Object.fromEntries(Object.entries(ran).filter(([callKey]) => isLeft(callKey))),
  };
}
