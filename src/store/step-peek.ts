import type { Content } from '../events/content.ts';
import type { Database } from './database.ts';
import { jsonText } from './json-text.ts';
import { sessionKeys } from './session-key.ts';
import { type StateParts, stateOf } from './state-parts.ts';
import { type AskedColumn, askedOf, type BehindAnswer, behindOf, call } from './step-writes.ts';
import type { DraftEvent, PeekedStep, SessionNames, StepToPeek } from './store.ts';

const PEEK = `${call('holdfast.peek_step_1', 10)}, holdfast.answered_message_1($2, $5, $11) as message`;

interface PeekAnswer {
  names: SessionNames | null;
  behind: BehindAnswer | null;
  begun: boolean;
  seq: number;
  from: number;
  userContent: Content | null;
  message: Content | null;
  stateDelta: Record<string, unknown> | null;
  messageDigest: string | null;
  /** As they are stored: without `temp:` state. */
  responses: DraftEvent | null;
  delta: Record<string, unknown> | null;
  answers: { runKey: string; step: number } | null;
  asked: AskedColumn | null;
  state: StateParts;
}

interface PeekRow {
  answer: PeekAnswer;
  /** Where it isn't appended as it is. */
  message: Content | null;
}

export async function peekStep(database: Database, step: StepToPeek): Promise<PeekedStep> {
  const { identity } = step;
  const keys = identity && sessionKeys(identity);
  const [row] = await database.query<PeekRow>(PEEK, [
    step.session,
    keys?.name,
    keys?.app,
    keys?.user,
    step.invocationId,
    step.runKey,
    step.step,
    step.fence?.startedAt,
    step.messageDigest,
    step.mayGiveWay ?? false,
    sentContent(step.message),
  ]);
  const { answer, message: answered } = row as PeekRow;
  const {
    names,
    behind,
    begun,
    seq,
    from,
    userContent,
    message: inInbox,
    stateDelta,
    messageDigest,
    responses,
    delta,
    answers,
    asked,
    state,
  } = answer;
  const message = begun ? null : (answered ?? (step.message === undefined ? inInbox : null));
  return {
    names: names ?? namesOf(identity as SessionNames),
    ...(behind === null ? {} : { behind: behindOf(behind) }),
    begun,
    ...(message === null ? {} : { message }),
    ...(stateDelta === null ? {} : { stateDelta }),
    ...(messageDigest === null ? {} : { messageDigest }),
    ...(responses === null
      ? {}
      : { responses: { ...responses, actions: { ...responses.actions, stateDelta: delta ?? {} } } }),
    ...(responses === null || answers === null ? {} : { answers }),
    ...(asked === null ? {} : { asked: askedOf(asked) }),
    state: stateOf(state),
    ...(userContent === null ? {} : { userContent }),
    seq,
    from,
  };
}

/** JSON of what is looked at, for most messages nothing; null for the message in the inbox. */
function sentContent(message: StepToPeek['message']): string | null {
  if (message === undefined) return null;
  const text = jsonText(message.content);
  return text.includes('"functionResponse"') ? text : '{}';
}

/** Of a session that isn't there yet. */
function namesOf({ app, userId, sessionId }: SessionNames): SessionNames {
  return { app, userId, sessionId };
}
