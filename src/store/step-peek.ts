import type { Content } from '../events/content.ts';
import type { Database } from './database.ts';
import { jsonText, storableText } from './json-text.ts';
import { type RememberedColumn, remembered, rememberedOf } from './remembered.ts';
import { sessionKeys } from './session-key.ts';
import { type StateParts, stateOf } from './state-parts.ts';
import { type AskedColumn, askedOf, type BehindAnswer, behindOf, call } from './step-writes.ts';
import type { DraftEvent, PeekedStep, SessionNames, StepToPeek } from './store.ts';

const PEEK = `${call('holdfast.peek_step_1', 10)}, holdfast.answered_message_1($2, $5, $11) as message,
  ${remembered('$1', '$6')} as remembered,
  (select a.run_key is not null from holdfast.answered_run_1($2, $12, $9) a) as answered`;

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
  remembered: RememberedColumn;
  /** The message told another turn of its jobs, and begins none. */
  answered: boolean;
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
    identity && storableText(identity.messageId),
  ]);
  const { answer, message: changed, remembered: kept, answered } = row as PeekRow;
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
  const message = begun || answered ? null : (changed ?? (step.message === undefined ? inInbox : null));
  return {
    names: names ?? namesOf(identity as SessionNames),
    ...(behind === null ? {} : { behind: behindOf(behind) }),
    begun: begun || answered,
    ...(message === null ? {} : { message }),
    ...(stateDelta === null ? {} : { stateDelta }),
    ...(messageDigest === null ? {} : { messageDigest }),
    ...(responses === null
      ? {}
      : { responses: { ...responses, actions: { ...responses.actions, stateDelta: delta ?? {} } } }),
    ...(responses === null || answers === null ? {} : { answers }),
    ...(asked === null ? {} : { asked: askedOf(asked) }),
    state: stateOf(state),
    remembered: rememberedOf(kept),
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
