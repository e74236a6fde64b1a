import { randomUUID } from 'node:crypto';
import { retryIdOf } from '../../protocol/identity.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { shownName } from '../engine/shown-name.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { type JobOfMessageAnswer, jobOfMessage } from '../jobs/job-row.ts';
import { NoSuchPlace, SessionNotFound } from '../store-errors.ts';
import { type CallPlace, placeOfCall } from '../turns/call-place.ts';
import { askedAgain, type RetryPlace, retriedOutcome } from './retried-plan.ts';
import { sessionKeys } from './session-key.ts';
import type { PreparedRetry, RetryTurn } from './session-store.ts';
import { newMarkerId } from './sessions-rewind.ts';

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

export async function prepareRetry(
  database: Database,
  retry: RetryTurn,
): Promise<{ prepared: PreparedRetry; session: string; seq: number }> {
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
      return { prepared: { ...prepared, agent: agent ?? undefined, ...told }, session, seq };
    }
    written = writtenTo(answer.place, retry.callKey);
  }
}

/** What the function is given once the place is known. */
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
