import { randomUUID } from 'node:crypto';
import { requestIdOf } from '../../protocol/gate.ts';
import { type CallPlace, callKeyOf, placeOfCall, retryIdOf } from '../../protocol/identity.ts';
import type { Carried } from '../../protocol/sizes.ts';
import type { PlannedCall, StepOutcome } from '../../protocol/step.ts';
import { shownName } from '../engine/arguments.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { type JobOfMessageAnswer, jobOfMessage } from '../jobs/job-row.ts';
import type { LiveNotices } from '../live/live-notices.ts';
import { NoSuchPlace, SessionNotFound } from '../store-errors.ts';
import { newSessionId, sessionKeys } from './session-names.ts';
import type { DraftEvent, PreparedRetry, RetryTurn, SessionStore } from './session-store.ts';

/** PostgreSQL's. */
const LARGEST_INTEGER = 2 ** 31 - 1;

type Prepared = Omit<PreparedRetry, 'agent' | 'jobs'> & {
  agent: string | null;
  session: string;
  seq: number;
  jobs: JobOfMessageAnswer[] | null;
};

type RetryAnswer =
  | Prepared
  | { place: RetryPlace }
  | { problem: 'no session' | 'child' | 'running' | 'another running' | 'hidden' }
  | { problem: 'no call'; elsewhere: string | null };

type Refused = Extract<RetryAnswer, { problem: string }>;

/** Where a retry goes back to, and what its step's outcome says of the calls. */
interface RetryPlace {
  session: string;
  retryOf: string;
  generation: number;
  outcome: StepOutcome;
  /** Keys of the calls whose outcomes are kept: they need no answer. */
  kept: string[];
  /** Body of the event by which the step asked people. */
  asked: DraftEvent | null;
}

export function sessionRetry(database: Database, live: LiveNotices): Pick<SessionStore, 'prepareRetry'> {
  return {
    async prepareRetry(retry) {
      const { runKey, step } = placeOf(retry);
      const named = {
        name_key: sessionKeys(retry).name,
        call_key: retry.callKey,
        run_key: runKey,
        step,
        interrupts: retry.interrupts ?? false,
        marker: newMarkerId(),
        event_id: randomUUID(),
        asking_id: randomUUID(),
      };
      let written: Partial<ReturnType<typeof writtenTo>> = {};
      // Only a retry that somebody else prepares meanwhile, or a call that settles, takes another round.
      for (;;) {
        const answer = await callFunction<RetryAnswer>(database, 'prepare_retry', { ...named, ...written });
        if ('problem' in answer) throw refusal(retry, answer);
        if (!('place' in answer)) {
          const { session, seq, agent, jobs, ...prepared } = answer;
          const told = jobs === null ? {} : { jobs: jobs.map(jobOfMessage) };
          live.tell({ type: 'appended', session, seq });
          return { ...prepared, agent: agent ?? undefined, ...told };
        }
        written = writtenTo(answer.place, retry.callKey);
      }
    },
  };
}

/** Invocation id of a marker. It stands for no turn, so that any id will do. */
export function newMarkerId(): string {
  return `e-${newSessionId()}`;
}

/** Arguments of the function once the place is known. */
function writtenTo(place: RetryPlace, callKey: string) {
  const runKey = retryIdOf(place.retryOf, place.generation);
  const { requests, event } = askedAgain(place, runKey);
  return {
    generation: place.generation,
    kept: place.kept,
    new_run: runKey,
    new_outcome: JsonDocument.of(retriedOutcome(place, callKey, runKey)),
    requests,
    asking: event && JsonDocument.of(event),
  };
}

function placeOf({ callKey }: RetryTurn): CallPlace {
  try {
    const place = placeOfCall(callKey);
    if (place.step <= LARGEST_INTEGER && storableText(callKey) === callKey) return place;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new NoSuchPlace(
    `callKey: ${shownName(callKey)} is no call's key; it has the form <invocation id>.<step>.<index>`,
  );
}

function refusal({ sessionId, callKey }: RetryTurn, refused: Refused): NoSuchPlace | SessionNotFound {
  const session = shownName(sessionId);
  const call = shownName(callKey);
  switch (refused.problem) {
    case 'no session':
      return new SessionNotFound(`sessionId: this user and app have no session ${session}`);
    case 'child':
      return new NoSuchPlace(
        `callKey: the call ${call} was made by a sub-agent; retry from the call of the turn's own agent`,
      );
    case 'running':
      return new NoSuchPlace(
        `callKey: the turn of the call ${call} hasn't ended; wait for its end, or cancel it first`,
      );
    case 'another running':
      return new NoSuchPlace(
        `callKey: the call ${call} can't be retried while another turn of session ${session} hasn't ended; wait for its ` +
          'end, or cancel it first',
      );
    case 'hidden':
      return new NoSuchPlace(
        `callKey: a rewind or another retry hides the call ${call}; retry from a call of session ${session} that is ` +
          'still part of it',
      );
    case 'no call':
      return new NoSuchPlace(
        refused.elsewhere === null
          ? `callKey: session ${session} has no call ${call}`
          : `callKey: the call ${call} was made in session ${shownName(refused.elsewhere)}, before session ${session} ` +
              'was forked from it; retry it there',
      );
  }
}

/**
 * The step's outcome, with the calls under their new keys. Those that asked a person ask anew, unless they keep their
 * outcomes.
 *
 * @throws NoSuchPlace where the call that is retried was answered without being run
 */
function retriedOutcome(
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
function askedAgain(
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
