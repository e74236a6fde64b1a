import type { Content } from '../../events/content.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { newSession } from '../sessions/session-key.ts';
import { type StateParts, stateOf } from '../sessions/state-parts.ts';
import type { DraftEvent, PeekedStep, SessionNames, StepToPeek } from '../store.ts';
import { type RememberedColumn, rememberedOf } from './remembered.ts';
import { type AskedColumn, askedOf, type BehindAnswer, behindOf } from './step-writes.ts';

interface PeekAnswer {
  names: SessionNames | null;
  behind: BehindAnswer | null;
  begun: boolean;
  seq: number;
  from: number;
  userContent: Content | null;
  /** As it will be appended; of one that is sent along only where that is otherwise. */
  message: Content | null;
  stateDelta: Record<string, unknown> | null;
  messageDigest: string | null;
  /** As they are stored: without `temp:` state. */
  responses: DraftEvent | null;
  delta: Record<string, unknown> | null;
  answers: { runKey: string; step: number } | null;
  asked: AskedColumn | null;
  state: StateParts;
  remembered: RememberedColumn;
}

export async function peekStep(database: Database, step: StepToPeek): Promise<PeekedStep> {
  const { identity } = step;
  const {
    names,
    behind,
    message,
    stateDelta,
    messageDigest,
    responses,
    delta,
    answers,
    asked,
    state,
    remembered,
    userContent,
    ...rest
  } = await callFunction<PeekAnswer>(database, 'peek_step', {
    ...(identity === undefined
      ? { session: step.session }
      : { ...newSession(identity), message_id: storableText(identity.messageId) }),
    invocation: step.invocationId,
    run_key: step.runKey,
    step: step.step,
    chain_started_at: step.fence?.startedAt,
    message_digest: step.messageDigest,
    may_give_way: step.mayGiveWay ?? false,
    sent: sentContent(step.message),
  });
  return {
    names: names ?? namesOf(identity as SessionNames),
    ...(behind === null ? {} : { behind: behindOf(behind) }),
    ...(message === null ? {} : { message }),
    ...(stateDelta === null ? {} : { stateDelta }),
    ...(messageDigest === null ? {} : { messageDigest }),
    ...(responses === null
      ? {}
      : { responses: { ...responses, actions: { ...responses.actions, stateDelta: delta ?? {} } } }),
    ...(responses === null || answers === null ? {} : { answers }),
    ...(asked === null ? {} : { asked: askedOf(asked) }),
    state: stateOf(state),
    remembered: rememberedOf(remembered),
    ...(userContent === null ? {} : { userContent }),
    ...rest,
  };
}

/** JSON of what is looked at, for most messages nothing; null for the message in the inbox. */
function sentContent(message: StepToPeek['message']): JsonDocument | null {
  if (message === undefined) return null;
  const text = jsonText(message.content);
  return new JsonDocument(text.includes('"functionResponse"') ? text : '{}');
}

/** Of a session that isn't there yet. */
function namesOf({ app, userId, sessionId }: SessionNames): SessionNames {
  return { app, userId, sessionId };
}
