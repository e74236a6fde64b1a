import type { Carried } from '../../protocol/carried.ts';
import { requestIdOf } from '../../protocol/gate.ts';
import { callKeyOf } from '../../protocol/identity.ts';
import type { PlannedCall, StepOutcome } from '../../protocol/step.ts';
import { shownName } from '../engine/shown-name.ts';
import type { DraftEvent } from '../store.ts';
import { NoSuchPlace } from '../store-errors.ts';
import { placeOfCall } from '../turns/call-place.ts';

/** Where a retry goes back to, and what its step's outcome says of the calls. */
export interface RetryPlace {
  session: string;
  retryOf: string;
  generation: number;
  outcome: StepOutcome;
  /** Keys of the calls whose outcomes are kept: they need no answer. */
  kept: string[];
  /** Body of the event by which the step asked people. */
  asked: DraftEvent | null;
}

/**
 * The step's outcome, with the calls under their new keys. Those that asked a person ask anew, unless they keep their
 * outcomes.
 *
 * @throws NoSuchPlace where the call that is retried was answered without being run
 */
export function retriedOutcome(
  { session, outcome, kept }: RetryPlace,
  callKey: string,
  runKey: string,
): StepOutcome {
  if (outcome.kind !== 'calls' || !outcome.calls.some((call) => call.callKey === callKey)) {
    throw new NoSuchPlace(
      `callKey: the call ${shownName(callKey)} was answered without being run; ` +
        'retry from another call of its step, or rewind the session and send the message again',
    );
  }
  const { inbox: _inbox, searchAttributes: _attributes, timeLeft: _timeLeft, ...rest } = outcome;
  return {
    ...rest,
    session,
    usage: { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
    calls: outcome.calls.map(({ gate, ...call }) => {
      const moved = movedKey(call.callKey, runKey);
      return {
        ...call,
        callKey: moved,
        args: movedArgs(call.args, runKey),
        ...(gate === undefined || kept.includes(call.callKey)
          ? {}
          : { gate: { ...gate, requestId: requestIdOf(moved, 1) } }),
      };
    }),
  };
}

/** Requests of the calls that run anew, in call order, each with the one that it repeats, and the event that asks them. */
export function askedAgain(
  { outcome, kept, asked }: RetryPlace,
  runKey: string,
): { requests: { before: string; now: string }[]; event?: DraftEvent } {
  const calls = outcome.kind === 'calls' ? outcome.calls : [];
  const again = calls.flatMap(({ gate, callKey, callId }) =>
    gate === undefined || kept.includes(callKey)
      ? []
      : [{ callId, before: gate.requestId, now: requestIdOf(movedKey(callKey, runKey), 1) }],
  );
  if (again.length === 0 || asked === null) return { requests: again };
  const ids = new Map(again.map(({ before, now }) => [before, now]));
  const callIds = new Set(again.map(({ callId }) => callId));
  const { content, actions } = asked;
  return {
    requests: again,
    event: {
      ...asked,
      invocationId: runKey,
      ...(content === undefined
        ? {}
        : {
            content: {
              ...content,
              parts: (content.parts ?? []).flatMap((part) => {
                const now = ids.get(part.functionCall?.id ?? '');
                return now === undefined
                  ? []
                  : [{ ...part, functionCall: { ...part.functionCall, id: now } }];
              }),
            },
          }),
      longRunningToolIds: [...ids.values()],
      actions: {
        ...actions,
        requestedToolConfirmations: Object.fromEntries(
          Object.entries(actions.requestedToolConfirmations).filter(([callId]) => callIds.has(callId)),
        ),
      },
    },
  };
}

function movedKey(callKey: string, runKey: string): string {
  return callKeyOf(runKey, 1, placeOfCall(callKey).index);
}

function movedArgs(args: PlannedCall['args'], runKey: string): Carried<Record<string, unknown>> {
  return 'ref' in args ? { ref: { ...args.ref, key: movedKey(args.ref.key, runKey) } } : args;
}
