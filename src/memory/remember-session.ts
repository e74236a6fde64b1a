import type { StoredEvent } from '../contract/events.ts';
import { isCompactedEvent } from '../events/compacted-event.ts';
import type { Event } from '../events/event.ts';
import { defined } from '../protocol/json.ts';
import type { EventMemory } from '../store/memories/memory-store.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import type { Store } from '../store/store.ts';
import type { BaseMemoryService } from './base-memory-service.ts';
import { type Embeddings, embedded } from './embeddings.ts';
import { memoryTerms } from './memory-terms.ts';
import { passagesOf, textOf } from './passages.ts';
import { askService } from './user-memory.ts';

/** Events that are read, embedded and kept at once. */
const AT_ONCE = 20;

export interface RememberSession {
  store: Pick<Store, 'memories' | 'sessions'>;
  names: SessionNames;
  include: (event: Event) => boolean;
  embeddings?: Embeddings | undefined;
  service?: BaseMemoryService | undefined;
  signal: AbortSignal;
}

/**
 * Adds the events of a session to the memory that came since the last time: each once, whoever adds them and how often. An app's own service
 * may get the events of an attempt that failed again.
 *
 * @returns how many events were read.
 * @throws EmbeddingsFailed, MemoryServiceFailed
 */
export async function rememberSession(given: RememberSession): Promise<number> {
  const { store, names, signal } = given;
  let read = 0;
  for (;;) {
    signal.throwIfAborted();
    const place = await store.memories.progress(names);
    if (place === undefined) return read;
    const events = await store.sessions.readEvents({ ...names, after: place.seq, limit: AT_ONCE });
    const last = events.at(-1);
    if (last === undefined) return read;
    const wanted = events.filter((stored) => isRemembered(stored, given.include));
    const memories = given.service === undefined ? await memoriesOf(wanted, given) : [];
    if (given.service !== undefined) await tell(given.service, names, wanted, given);
    if (!(await store.memories.rememberEvents({ session: place.session, upTo: last.seq, memories })))
      return read;
    read += events.length;
  }
}

function isRemembered({ event }: StoredEvent, include: (event: Event) => boolean): boolean {
  return !isCompactedEvent(event) && event.partial !== true && textOf(event.content) !== '' && include(event);
}

async function memoriesOf(
  events: readonly StoredEvent[],
  { embeddings, signal }: RememberSession,
): Promise<EventMemory[]> {
  const passages = events.flatMap(({ seq, event }) =>
    passagesOf(textOf(event.content)).map((text, nth) => ({ seq, nth, text, event })),
  );
  const vectors =
    embeddings === undefined
      ? []
      : await embedded(
          embeddings,
          passages.map(({ text }) => text),
          { purpose: 'document', signal },
        );
  return passages.map(({ seq, nth, text, event }, index) => ({
    seq,
    nth,
    content: { ...defined({ role: event.content?.role }), parts: [{ text }] },
    saidAt: event.timestamp,
    ...memoryTerms(text),
    ...defined({ author: event.author, embedding: vectors[index] }),
  }));
}

async function tell(
  service: BaseMemoryService,
  { app: appName, userId, sessionId }: SessionNames,
  wanted: readonly StoredEvent[],
  { store, names, include, signal }: RememberSession,
): Promise<void> {
  if (wanted.length === 0) return;
  if (service.addEventsToMemory !== undefined) {
    const events = wanted.map(({ event }) => event);
    await askService('addEventsToMemory', signal, () =>
      service.addEventsToMemory?.({ appName, userId, sessionId, events }),
    );
    return;
  }
  const whole = await store.sessions.readEvents({ ...names, limit: Number.MAX_SAFE_INTEGER });
  const events = whole.filter((stored) => isRemembered(stored, include)).map(({ event }) => event);
  await askService('addSessionToMemory', signal, () =>
    service.addSessionToMemory({ id: sessionId, appName, userId, events }),
  );
}
