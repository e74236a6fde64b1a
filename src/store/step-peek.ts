import type { Content } from '../events/content.ts';
import type { TurnRunConfig } from '../protocol/turn.ts';
import type { Database } from './database.ts';
import { sessionKeys } from './session-key.ts';
import { type StateParts, stateOf } from './state-parts.ts';
import { askedOf, type BehindAnswer, behindOf, call } from './step-writes.ts';
import type { DraftEvent, PeekedStep, SessionNames, StepToPeek } from './store.ts';

const PEEK = call('holdfast.peek_step_1', 10);

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
  asked: { agent: string | null; runConfig: TurnRunConfig | null } | null;
  state: StateParts;
}

export async function peekStep(database: Database, step: StepToPeek): Promise<PeekedStep> {
  const { identity } = step;
  const keys = identity && sessionKeys(identity);
  const [row] = await database.query<{ answer: PeekAnswer }>(PEEK, [
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
  ]);
  const {
    names,
    behind,
    begun,
    seq,
    from,
    userContent,
    message,
    stateDelta,
    messageDigest,
    responses,
    delta,
    answers,
    asked,
    state,
  } = (row as { answer: PeekAnswer }).answer;
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

/** Of a session that isn't there yet. */
function namesOf({ app, userId, sessionId }: SessionNames): SessionNames {
  return { app, userId, sessionId };
}
