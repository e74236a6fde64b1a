import { randomUUID } from 'node:crypto';
import type { Carried } from '../protocol/carried.ts';
import { callKeyOf, retryIdOf } from '../protocol/identity.ts';
import type { PlannedCall, StepOutcome } from '../protocol/step.ts';
import { type CallPlace, placeOfCall } from './call-place.ts';
import type { Database } from './database.ts';
import { jsonText, storableText } from './json-text.ts';
import { sessionKeys } from './session-key.ts';
import type { PreparedRetry, RetryTurn } from './session-store.ts';
import { newMarkerId } from './sessions-rewind.ts';
import { shownName } from './shown-name.ts';
import { NoSuchPlace, SessionNotFound } from './store-errors.ts';

const PREPARE = 'select holdfast.prepare_retry_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as answer';

/** PostgreSQL's. */
const LARGEST_INTEGER = 2 ** 31 - 1;

/** Where the retry goes back to, and what its step's outcome says of the calls. */
interface RetryPlace {
  session: string;
  retryOf: string;
  generation: number;
  outcome: StepOutcome;
}

type Prepared = Omit<PreparedRetry, 'agent'> & { agent: string | null; session: string; seq: number };

type RetryAnswer =
  | Prepared
  | { place: RetryPlace }
  | { problem: 'no session' | 'child' | 'running' | 'another running' | 'hidden' }
  | { problem: 'no call'; elsewhere: string | null };

export async function prepareRetry(
  database: Database,
  retry: RetryTurn,
): Promise<{ prepared: PreparedRetry; session: string; seq: number }> {
  const name = sessionKeys(retry).name;
  const call = placeOf(retry);
  const marker = newMarkerId();
  const eventId = randomUUID();
  const named = [name, retry.callKey, call.runKey, call.step, retry.interrupts ?? false];
  let written: unknown[] = [null, null, null];
  // Only a retry that somebody else prepares meanwhile takes another round.
  for (;;) {
    const [row] = await database.query<{ answer: RetryAnswer }>(PREPARE, [
      ...named,
      ...written,
      marker,
      eventId,
    ]);
    const { answer } = row as { answer: RetryAnswer };
    if ('problem' in answer) throw refusal(retry, answer);
    if (!('place' in answer)) {
      const { session, seq, agent, ...prepared } = answer;
      return { prepared: { ...prepared, agent: agent ?? undefined }, session, seq };
    }
    const { retryOf, generation } = answer.place;
    const runKey = retryIdOf(retryOf, generation);
    written = [generation, runKey, jsonText(retriedOutcome(answer.place, retry, runKey))];
  }
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

/** The step's outcome, with the calls under their new keys. */
function retriedOutcome(
  { session, outcome }: RetryPlace,
  { callKey }: RetryTurn,
  runKey: string,
): StepOutcome {
  if (outcome.kind !== 'calls' || !outcome.calls.some((call) => call.callKey === callKey)) {
    throw new NoSuchPlace(
      `callKey: the call ${shownName(callKey)} was answered without being run; ` +
        'retry from another call of its step, or rewind the session and send the message again',
    );
  }
  const moved = (key: string) => callKeyOf(runKey, 1, placeOfCall(key).index);
  const { inbox: _inbox, searchAttributes: _attributes, timeLeft: _timeLeft, ...rest } = outcome;
  return {
    ...rest,
    session,
    usage: { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
    calls: outcome.calls.map((call) => ({
      ...call,
      callKey: moved(call.callKey),
      args: movedArgs(call.args, moved),
    })),
  };
}

function movedArgs(
  args: PlannedCall['args'],
  moved: (key: string) => string,
): Carried<Record<string, unknown>> {
  return 'ref' in args ? { ref: { ...args.ref, key: moved(args.ref.key) } } : args;
}

type Refused = Extract<RetryAnswer, { problem: string }>;

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
