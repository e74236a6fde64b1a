import type { StoredEvent } from '../contract/events.ts';
import type { TurnUsage } from '../contract/sessions.ts';
import { isCompactedEvent } from '../events/compacted-event.ts';
import type { Event } from '../events/event.ts';
import type { TurnResult } from '../protocol/turn.ts';

/** A call that a turn's model has asked for. */
export interface TestCall {
  tool: string;
  args: Record<string, unknown>;
  /** Undefined where the turn ended without one. */
  response: Record<string, unknown> | undefined;
}

/** The outcome of a turn. */
export interface TestTurn {
  app: string;
  userId: string;
  sessionId: string;
  messageId: string;
  invocationId: string;
  workflowId: string;
  status: TurnResult['status'];
  /** The final answer; '' without one. */
  text: string;
  error: TurnResult['error'];
  usage: TurnUsage;
  /** The calls, in call order. */
  calls: TestCall[];
  /** The turn's events in order, the user's message first. */
  events: StoredEvent[];
  result: TurnResult;
}

/**
 * The calls of a turn's own steps, and of a retried turn those that it answers anew, which an earlier turn asked for.
 * Calls and responses belong together by position: a model may give two calls one id.
 *
 * @param session all events of the turn's session.
 */
export function callsOf(events: readonly StoredEvent[], session: readonly StoredEvent[]): TestCall[] {
  const answers = events.filter(({ kind }) => kind === 'responses');
  return session.flatMap((stored) => {
    // Requests to people are no calls of the model's.
    if (stored.kind === 'request') return [];
    const calls = partsOf(stored.event).flatMap(({ functionCall }) => functionCall ?? []);
    const answer = answers.find((given) => isAnswer(given, stored));
    if (calls.length === 0 || (answer === undefined && !events.includes(stored))) return [];
    const responses =
      answer && partsOf(answer.event).flatMap(({ functionResponse }) => functionResponse ?? []);
    return calls.map(({ name = '', args = {} }, index) => ({
      tool: name,
      args,
      response: responses?.[index]?.response,
    }));
  });
}

function isAnswer(given: StoredEvent, asked: StoredEvent): boolean {
  if (given.event.invocationId === asked.event.invocationId) return given.step === asked.step;
  const ids = partsOf(asked.event).flatMap(({ functionCall }) => functionCall?.id ?? []);
  const answered = partsOf(given.event).flatMap(({ functionResponse }) => functionResponse?.id ?? []);
  return answered.length > 0 && answered.join() === ids.join();
}

/** For an answer whose result is too long to have it: a callback may have said it. */
export function lastTextOf(events: readonly StoredEvent[]): string {
  const said = events.filter(
    ({ kind, event }) => (kind === 'model' || kind === 'callback') && !isCompactedEvent(event),
  );
  const texts = said.map(({ event }) =>
    partsOf(event)
      .flatMap(({ text, thought }) => (text && !thought ? [text] : []))
      .join(''),
  );
  return texts.findLast((text) => text !== '') ?? '';
}

function partsOf({ content }: Event) {
  return content?.parts ?? [];
}
