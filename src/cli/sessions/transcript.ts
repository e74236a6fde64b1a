import { askedLine, askedRequests } from '../../client/approvals/asked-requests.ts';
import type { StoredEvent } from '../../contract/events.ts';
import type { Part } from '../../events/content.ts';
import { visibleEvents } from '../../flows/event-visibility.ts';
import { callKeyOf } from '../../protocol/identity.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import type { CommandOutput } from '../command-output.ts';
import { clockTime, codeLines, cutJson, messageAuthor, responseLine } from './shown-values.ts';

/** An event, and whether a rewind or a retry hides it. */
export type ShownEvent = StoredEvent & { hidden?: true };

/** @param events up to the session's last one. */
export function withHidden(events: readonly StoredEvent[]): ShownEvent[] {
  const visible = new Set(visibleEvents(events).map(({ seq }) => seq));
  return events.map((event) =>
    visible.has(event.seq) || event.kind === 'rewind' ? event : { ...event, hidden: true },
  );
}

/** A transcript for people: each event's number, time and author; where a turn begins, its invocation. */
export function transcriptLines(
  events: readonly ShownEvent[],
  { paint }: Pick<CommandOutput, 'paint'>,
): string[] {
  const digits = String(events.at(-1)?.seq ?? 0).length;
  const lines: string[] = [];
  let invocation: string | undefined;
  let day: string | undefined;
  for (const stored of events) {
    const { seq, event, hidden } = stored;
    const time = clockTime(event.timestamp);
    if (event.invocationId !== invocation && stored.kind !== 'rewind') {
      invocation = event.invocationId;
      lines.push(paint('dim', `${' '.repeat(digits)}  ${invocation}`));
    }
    const [date = '', clock = ''] = time.split(' ');
    if (date !== day) {
      day = date;
      lines.push(paint('dim', `${' '.repeat(digits)}  ${date}`));
    }
    const head = `${String(seq).padStart(digits)}  ${clock}  `;
    const indent = ' '.repeat(head.length);
    const body = bodyOf(stored).flatMap((text) => visibleLines(text).split('\n'));
    for (const [index, text] of (body.length === 0 ? ['(nothing)'] : body).entries()) {
      const line = `${index === 0 ? head : indent}${text}`;
      lines.push(hidden ? paint('dim', `${line}${index === 0 ? '  (hidden)' : ''}`) : line);
    }
  }
  return lines;
}

function bodyOf(stored: StoredEvent): string[] {
  const { kind, event, hidesAfter } = stored;
  const author = kind === 'message' ? messageAuthor(event.content) : (event.author ?? '');
  if (kind === 'rewind') {
    const before = event.actions?.rewindBeforeInvocationId;
    return [
      `rewind: hides what came after ${hidesAfter}${before === undefined ? '' : `, from ${before} on`}`,
    ];
  }
  if (kind === 'request') {
    return askedRequests(stored).map((asked) => `${author}  ? ${askedLine(asked)}`);
  }
  let calls = 0;
  const parts = (event.content?.parts ?? []).flatMap((part) => {
    const index = part.functionCall === undefined ? 0 : calls++;
    return lineOf(stored, part, index);
  });
  const error = event.errorCode === undefined ? [] : [`${event.errorCode}: ${event.errorMessage ?? ''}`];
  const delta = Object.keys(event.actions?.stateDelta ?? {});
  const state = delta.length === 0 ? [] : [`sets ${delta.join(', ')}`];
  return [...parts, ...error, ...state].map((text) => `${author}  ${text}`);
}

function lineOf({ runKey, step }: StoredEvent, part: Part, index: number): string[] {
  const { text, thought, functionCall, functionResponse } = part;
  if (functionCall !== undefined) {
    return [`→ ${functionCall.name}(${cutJson(functionCall.args ?? {})})  ${callKeyOf(runKey, step, index)}`];
  }
  if (functionResponse !== undefined) return [responseLine(functionResponse)];
  if (text === undefined) {
    const code = codeLines(part);
    return code.length > 0 ? code : [`(${Object.keys(part).join(', ')})`];
  }
  return text === '' ? [] : [thought ? `(thought) ${text}` : text];
}
