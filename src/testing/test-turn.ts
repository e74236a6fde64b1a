import type { Event } from '../events/event.ts';
import type { TurnResult, TurnUsage } from '../protocol/turn.ts';
import type { StoredEvent } from '../store/store.ts';

/** A call that a turn's model has asked for. */
export interface TestCall {
  tool: string;
  args: Record<string, unknown>;
  /** Undefined where the turn ended without one. */
  response: Record<string, unknown> | undefined;
}

/** What a turn came to. */
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
  /** What was called, in call order. */
  calls: TestCall[];
  /** The turn's events in order, the user's message first. */
  events: StoredEvent[];
  result: TurnResult;
}

/** Calls and responses belong together by step and position: a model may give two calls one id. */
export function callsOf(events: readonly StoredEvent[]): TestCall[] {
  return events.flatMap((stored) => {
    const calls = partsOf(stored.event).flatMap(({ functionCall }) => functionCall ?? []);
    if (calls.length === 0) return [];
    const answered = events.find(({ kind, step }) => kind === 'responses' && step === stored.step);
    const responses =
      answered && partsOf(answered.event).flatMap(({ functionResponse }) => functionResponse ?? []);
    return calls.map(({ name = '', args = {} }, index) => ({
      tool: name,
      args,
      response: responses?.[index]?.response,
    }));
  });
}

export function finalTextOf(events: readonly StoredEvent[]): string {
  const last = events.findLast(({ kind }) => kind === 'model');
  if (last === undefined) return '';
  return partsOf(last.event)
    .flatMap(({ text, thought }) => (text && !thought ? [text] : []))
    .join('');
}

function partsOf({ content }: Event) {
  return content?.parts ?? [];
}
