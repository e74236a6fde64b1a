import type { StoredEvent } from '../contract/events.ts';
import { isCompactedEvent } from '../events/compacted-event.ts';
import type { Event } from '../events/event.ts';
import { defined } from '../protocol/json.ts';
import type { EventMemory } from '../store/memories/memory-store.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import type { Store } from '../store/store.ts';
import type { BaseMemoryService } from './base-memory-service.ts';
import { type Embeddings, embeddedDocuments } from './embeddings.ts';
import { withTerms } from './memory-terms.ts';
import { passagesOf, textOf } from './passages.ts';
import { askService } from './user-memory.ts';

/** Events that are read, embedded and kept at once. */
const AT_ONCE = 20;

export interface NewEvents {
  store: Pick<Store, 'memories' | 'sessions'>;
  names: SessionNames;
  include: (event: Event) => boolean;
  embeddings?: Embeddings | undefined;
  service?: BaseMemoryService | undefined;
  signal: AbortSignal;
}

/**
 * Adds the events of a session that are not in the memory yet. The store keeps each once. An app's own service may get the same events several
 * times.
 *
 * @throws EmbeddingsFailed, MemoryServiceFailed
 */
export async function addNewEvents(given: NewEvents): Promise<void> {
  const { store, names, signal, service } = given;
  for (;;) {
    signal.throwIfAborted();
    const place = await store.memories.progress(names);
    if (place === undefined) return;
    if (service !== undefined) return await tellService(service, place, given);
    const events = await store.sessions.readEvents({ ...names, after: place.seq, limit: AT_ONCE });
    const last = events.at(-1);
    if (last === undefined) return;
    const memories = await memoriesOf(
      events.filter((stored) => isRemembered(stored, given.include)),
      given,
    );
    const read = { session: place.session, upTo: last.seq, memories };
    if (!(await store.memories.rememberEvents(read))) return;
  }
}

function isRemembered({ event }: StoredEvent, include: (event: Event) => boolean): boolean {
  return !isCompactedEvent(event) && event.partial !== true && textOf(event.content) !== '' && include(event);
}

async function memoriesOf(
  events: readonly StoredEvent[],
  { embeddings, signal }: NewEvents,
): Promise<EventMemory[]> {
  const passages = events.flatMap(({ seq, event }) =>
    passagesOf(textOf(event.content)).map((text, nth) => ({ seq, nth, text, event })),
  );
  const texts = passages.map(({ text }) => text);
  const vectors = await embeddedDocuments(embeddings, texts, signal);
  const found = await withTerms(passages, signal);
  return found.map(({ seq, nth, text, event, terms, words }, index) => ({
    seq,
    nth,
    content: { ...defined({ role: event.content?.role }), parts: [{ text }] },
    saidAt: event.timestamp,
    terms,
    words,
    ...defined({ author: event.author, embedding: vectors[index] }),
  }));
}

/** New events, or the whole session where the service takes no single ones; without those that a rewind hides. */
async function tellService(
  service: BaseMemoryService,
  place: { session: string; seq: number },
  { store, names, include, signal }: NewEvents,
): Promise<void> {
  const all = await store.sessions.readEvents({ ...names, limit: Number.MAX_SAFE_INTEGER });
  const upTo = all.at(-1)?.seq ?? 0;
  if (upTo <= place.seq) return;
  const said = visible(all).filter((stored) => isRemembered(stored, include));
  const { app: appName, userId, sessionId } = names;
  const events = said.filter(({ seq }) => seq > place.seq).map(({ event }) => event);
  if (service.addEventsToMemory === undefined) {
    const session = { id: sessionId, appName, userId, events: said.map(({ event }) => event) };
    await askService('addSessionToMemory', signal, () => service.addSessionToMemory(session));
  } else if (events.length > 0) {
    const request = { appName, userId, sessionId, events };
    await askService('addEventsToMemory', signal, () => service.addEventsToMemory?.(request));
  }
  await store.memories.rememberEvents({ session: place.session, upTo, memories: [] });
}

function visible(events: readonly StoredEvent[]): StoredEvent[] {
  let hidesAfter = Number.POSITIVE_INFINITY;
  const seen: StoredEvent[] = [];
  for (const stored of events.toReversed()) {
    if (stored.seq <= hidesAfter) seen.push(stored);
    hidesAfter = Math.min(hidesAfter, stored.hidesAfter ?? Number.POSITIVE_INFINITY);
  }
  return seen.reverse();
}
