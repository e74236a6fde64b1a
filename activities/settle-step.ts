import { createEventActions } from '../src/events/event-actions.ts';
import type { SettleStepInput, SettleStepResult } from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import type { SettleStep } from '../src/store/store.ts';
import { attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';

/** `holdfast.settleStep`: settles calls that no attempt lived to settle, and ends a turn that asks no model again. */
export function settleStep({
  store,
}: ActivityDependencies): (input: SettleStepInput) => Promise<SettleStepResult> {
  return (input) =>
    attempt(async () => {
      const { ending: _ending, ...position } = input;
      const ending = endingOf(input);
      const settled = await store.settleStep({ ...position, ...(ending === undefined ? {} : { ending }) });
      return { v: PROTOCOL_VERSION, ...settled };
    });
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
