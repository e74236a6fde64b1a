import { createEventActions } from '../src/events/event-actions.ts';
import type { SettleStepInput, SettleStepResult } from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import type { SettleStep } from '../src/store/store.ts';
import { attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { reportUnexpected } from './logging.ts';

/** `holdfast.settleStep`: settles calls that no attempt lived to settle, and ends a turn that asks no model again. */
export function settleStep(
  dependencies: ActivityDependencies,
): (input: SettleStepInput) => Promise<SettleStepResult> {
  const settle = async (input: SettleStepInput): Promise<SettleStepResult> => {
    const { ending: _ending, ...position } = input;
    const ending = endingOf(input);
    const settled = await dependencies.store.settleStep({
      ...position,
      ...(ending === undefined ? {} : { ending }),
    });
    return { v: PROTOCOL_VERSION, ...settled };
  };
  return (input) => {
    const { invocationId, step, agent } = input;
    return attempt(() => settle(input), reportUnexpected(dependencies, { invocationId, step, agent }));
  };
}

function endingOf({ ending, invocationId, agent }: SettleStepInput): SettleStep['ending'] {
  if (ending === undefined) return undefined;
  const { cutOff, ...outcome } = ending;
  const { error } = outcome;
  return {
    outcome,
    ...(cutOff === undefined ? {} : { cutOff }),
    ...(error === undefined
      ? {}
      : {
          errorEvent: {
            invocationId,
            author: agent,
            errorCode: error.code,
            errorMessage: error.message,
            actions: createEventActions(),
          },
        }),
  };
}
