import type { Content } from '../events/content.ts';
import type { Perspective } from '../tools/invocation-context.ts';
import { CallIds } from './call-ids.ts';
import type { TranscriptEvent } from './event-sight.ts';
import { PerspectiveContents } from './perspective-contents.ts';

/**
 * An agent's view of a transcript: the content of each visible event in order, calls with their responses right after them. Merged
 * responses belong to their calls by run, step and position, never by wire id; of several of one step the last visible one counts.
 * Responses that come later, with a message, belong to them by wire id, and take the place of earlier ones: the calls of their
 * event stand where the latest of them came. An event whose calls nobody has answered is left out: its step is still open, or was
 * never merged. What models said right after each other is one content. What other agents said is retold. Unchanged contents are
 * those of the events themselves.
 */
export function contentsOf(events: readonly TranscriptEvent[], perspective: Perspective): Content[] {
  const callIds = new CallIds();
  for (const { seq, event } of events) callIds.note(seq, event.content);
  const contents = new PerspectiveContents(perspective, callIds);
  contents.extend(events, events.length);
  const { list, length } = contents.now;
  return list.slice(0, length);
}
