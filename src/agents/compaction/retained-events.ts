import { isCompactedEvent } from '../../events/compacted-event.ts';
import { type Event, getFunctionCalls, getFunctionResponses, stringifyContent } from '../../events/event.ts';
import type { InvocationContext } from '../../tools/invocation-context.ts';

/** The events of a compactor's session, which it may edit. */
export function eventsOf({ session }: InvocationContext): Event[] {
  // The processor of compactors gives them a copy.
  return session.events as Event[];
}

/**
 * The index from which events are kept: at least `size` of them. No call is parted from its response, and a call that waits for one is kept.
 * Semantics: `calculateRetainStartIndex` of `@google/adk` 2.0.0, which parts calls from responses that come later.
 *
 * @param events without compacted ones
 */
export function retainStart(events: readonly Event[], size: number): number {
  let start = Math.max(0, events.length - size);
  const lastAnswers = answersOf(events);
  for (let index = start - 1; index >= 0; index -= 1) {
    if ((lastAnswers.get(index) ?? -1) >= start) start = index;
  }
  return start;
}

/** For each event with calls the index of the last response to them; infinite for a call that waits. */
function answersOf(events: readonly Event[]): ReadonlyMap<number, number> {
  const answers = new Map<number, number>();
  const open = new Map<string, number>();
  const waiting = new Map<string, number>();
  events.forEach((event, index) => {
    for (const { id, name } of getFunctionResponses(event)) {
      const asked = open.get(id ?? `${name}`);
      if (asked !== undefined) answers.set(asked, Math.max(index, answers.get(asked) ?? 0));
    }
    for (const { id, name, willContinue } of getFunctionResponses(event)) {
      if (willContinue !== true) waiting.delete(id ?? `${name}`);
    }
    for (const { id, name } of getFunctionCalls(event)) {
      open.set(id ?? `${name}`, index);
      const key = id ?? `${name}`;
      if (!waiting.has(key)) waiting.set(key, index);
    }
  });
  for (const index of waiting.values()) answers.set(index, Number.POSITIVE_INFINITY);
  return answers;
}

const CHARACTERS_PER_TOKEN = 4;

/** Tokens of an event: those of the request that it answers, or about as many as its content has. As in `@google/adk` 2.0.0. */
export function tokensOf(event: Event): number {
  const { promptTokenCount } = event.usageMetadata ?? {};
  return promptTokenCount ?? Math.ceil(stringifyContent(event).length / CHARACTERS_PER_TOKEN);
}

/** Tokens of the latest request, or about as many as the next one has; undefined where nothing was said. */
export function promptTokens(active: readonly Event[], context: InvocationContext): number | undefined {
  const latest = active.findLast(
    (event) => !isCompactedEvent(event) && event.usageMetadata?.promptTokenCount !== undefined,
  );
  if (latest !== undefined) return latest.usageMetadata?.promptTokenCount;
  const { agent, branch } = context;
  const contents = context.contents({ agent: agent?.name ?? '', branch, include: 'default' });
  let characters = 0;
  for (const { parts = [] } of contents) {
    for (const { text, functionCall, functionResponse } of parts) {
      characters += text?.length ?? 0;
      if (functionCall) characters += JSON.stringify(functionCall).length;
      if (functionResponse) characters += JSON.stringify(functionResponse).length;
    }
  }
  return characters > 0 ? Math.ceil(characters / CHARACTERS_PER_TOKEN) : undefined;
}
