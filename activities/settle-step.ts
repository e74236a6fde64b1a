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
    const { ending: _ending, identity: _identity, ...position } = input;
    const ending = endingOf(input);
    const session = input.session ?? (await sessionOf(dependencies, input));
    if (session === undefined) return { v: PROTOCOL_VERSION, seq: 0, from: 0 };
    const settled = await dependencies.store.settleStep({
      ...position,
      session,
      ...(ending === undefined ? {} : { ending }),
    });
    return { v: PROTOCOL_VERSION, ...settled };
  };
  return (input) => {
    const { invocationId, step, agent } = input;
    return attempt(() => settle(input), reportUnexpected(dependencies, { invocationId, step, agent }));
  };
}

/** Of an invocation whose first step has not answered: it may have been opened, or wait in the inbox. */
async function sessionOf(
  { store }: ActivityDependencies,
  { identity, invocationId }: SettleStepInput,
): Promise<string | undefined> {
  if (identity === undefined) return undefined;
  const opened = await store.findInvocation(identity, invocationId);
  if (opened !== undefined) return opened.session;
  const waits = (await store.readInbox(identity)).some((row) => row.invocationId === invocationId);
  return waits ? (await store.findSession(identity))?.session : undefined;
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
