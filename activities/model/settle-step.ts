import type { ChainFence, SettleStepInput, SettleStepResult } from '../../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { type Attempt, attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { tellUnwantedJobs } from '../jobs/tell-unwanted-jobs.ts';
import { withLastingStore } from '../lasting-store.ts';
import { reportUnexpected } from '../logging.ts';
import { reportEnd } from '../telemetry/end-report.ts';
import { settleUnsettled } from '../tool/settle-unsettled.ts';
import { checkedMessageOf } from './message-event.ts';
import { openStep } from './open-step.ts';
import { givenEnding, heardEnding, hearingAgent } from './settle-ending.ts';

/** `holdfast.settleStep`: settles calls that no attempt lived to settle, and ends a turn that asks no model again. */
export function settleStep(
  dependencies: ActivityDependencies,
): (input: SettleStepInput) => Promise<SettleStepResult> {
  const settle = async (
    dependencies: ActivityDependencies,
    input: SettleStepInput,
    current: Attempt,
  ): Promise<SettleStepResult> => {
    const {
      ending: _ending,
      identity: _identity,
      message: _message,
      stateDelta: _delta,
      ended: _ended,
      cameAt: _cameAt,
      ...position
    } = input;
    const place =
      input.session === undefined ? await placeOf(dependencies, input) : { session: input.session };
    if (place === undefined) return { v: PROTOCOL_VERSION, seq: 0, from: 0 };
    const told = await hasEnded(dependencies, input);
    const { store } = dependencies;
    const step = { ...position, ...place, unsettled: await settleUnsettled(dependencies, input) };
    const agent = told ? undefined : hearingAgent(dependencies, input);
    let ending = givenEnding(input);
    if (agent !== undefined && input.ending !== undefined) {
      // They see outcomes, and no call that is yet to have one.
      if (step.unsettled.length > 0) await store.settleStep(step);
      step.unsettled = [];
      ending = await heardEnding({ dependencies, input, ending: input.ending, ...place, agent, current });
    }
    const { cutOff = [], ...settled } = await store.settleStep({
      ...step,
      ...(ending === undefined ? {} : { ending }),
    });
    if (!told) reportEnd(dependencies.telemetry, input, settled.outcome);
    if (place.session === input.session) {
      await tellUnwantedJobs(dependencies, { ...input, calls: [...input.unsettled, ...cutOff] }, current);
    }
    return { v: PROTOCOL_VERSION, ...settled };
  };
  return (input) => {
    const { invocationId, step, agent } = input;
    return attempt(
      (current) =>
        settle(withLastingStore(dependencies, current, { invocationId, step, agent }), input, current),
      reportUnexpected(dependencies, { invocationId, step, agent }),
    );
  };
}

/**
 * Of an invocation whose first step has not answered: it may have been opened, or its message waits in the inbox. Otherwise
 * it is opened now, so that its message is known as one that was cut off.
 */
async function placeOf(
  { store }: ActivityDependencies,
  { identity, ...input }: SettleStepInput,
): Promise<{ session: string; fence?: ChainFence } | undefined> {
  if (identity === undefined) return undefined;
  const begun = await store.findInvocation(identity, input.invocationId);
  if (begun !== undefined) return { session: begun.session };
  if (input.message === undefined) {
    const waits = (await store.readInbox(identity)).some((row) => row.invocationId === input.invocationId);
    const found = waits ? await store.findSession(identity) : undefined;
    return found && { session: found.session };
  }
  const { invocationId, runKey, step, seq, fence } = input;
  const { opened, fence: own } = await openStep(store, {
    invocationId,
    runKey,
    step,
    seq,
    fence,
    identity,
    ...checkedMessageOf(input),
  });
  const { session } = opened;
  if (opened.kind === 'open') {
    // No model was asked.
    await store.recordStepFailure({ session, runKey, step, error: 'ended before it began', counts: false });
  }
  return { session, fence: own };
}

/** The turn's end is recorded: who did that has told of it, be it an earlier attempt or a model's last answer. */
async function hasEnded(
  { store }: ActivityDependencies,
  { ended, invocationId }: SettleStepInput,
): Promise<boolean> {
  if (ended === undefined) return false;
  const { app, userId, sessionId } = ended;
  return (await store.findInvocation({ app, userId, sessionId }, invocationId))?.outcome !== undefined;
}
