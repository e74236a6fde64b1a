import type { Content } from '../events/content.ts';
import { withoutOwnCallIds } from './call-ids.ts';

/** An event as the contents need it. */
export interface TranscriptEvent {
  kind: 'message' | 'model' | 'responses' | 'error';
  runKey: string;
  step: number;
  event: { content?: Content };
}

/**
 * What the model sees of a transcript: each event's content in order, calls with their responses behind them. Calls and
 * responses belong together by run and step, never by wire id. A model event whose calls have no responses event is left
 * out: its step is still open, or was never merged.
 */
export function contentsOf(events: readonly TranscriptEvent[]): Content[] {
  const answered = new Set(
    events.filter(({ kind }) => kind === 'responses').map(({ runKey, step }) => `${runKey}.${step}`),
  );
  const contents: Content[] = [];
  for (const { kind, runKey, step, event } of events) {
    if (!event.content?.parts?.length) continue;
    const calls = event.content.parts.some(({ functionCall }) => functionCall !== undefined);
    if (kind === 'model' && calls && !answered.has(`${runKey}.${step}`)) continue;
    contents.push(withoutOwnCallIds(event.content));
  }
  return contents;
}

/** Every id that a call of the transcript has. */
export function callIdsOf(events: readonly TranscriptEvent[]): Set<string> {
  const ids = new Set<string>();
  for (const { event } of events) {
    for (const { functionCall } of event.content?.parts ?? []) if (functionCall?.id) ids.add(functionCall.id);
  }
  return ids;
}
