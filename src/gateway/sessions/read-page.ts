import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { EventPage } from '../../contract/events.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { StoredEvent } from '../../store/sessions/stored-event.ts';

/** How long a session may take that is deleted, and made again, while it is read, milliseconds. */
const TIMEOUT = 5_000;

/** Some of the events that a session has now; undefined where there is no such session. */
export async function readPage(
  client: HoldfastApi,
  names: SessionNames,
  { after, limit }: { after: number; limit: number },
): Promise<EventPage | undefined> {
  const session = await client.sessions.get({ ...names, numRecentEvents: 0 });
  if (session === undefined) return undefined;
  const count = Math.min(limit, Math.max(0, session.seq - after));
  const events: StoredEvent[] = [];
  if (count > 0) {
    const following = { after, children: false, signal: AbortSignal.timeout(TIMEOUT) };
    for await (const stored of client.follow(names, following)) {
      events.push(stored);
      if (events.length === count) break;
    }
  }
  const last = events.at(-1)?.seq ?? after;
  return { events, last, more: last < session.seq };
}
