import { afterAll, beforeAll, expect, test } from 'vitest';
import { followSession } from '../../src/client/stream/session-stream.ts';
import type { FollowedEvent } from '../../src/client/stream/stream-item.ts';
import { parsePlace } from '../../src/client/stream/stream-place.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { wrappedStore } from '../setup/wrapped-store.ts';
import { CalledTurn } from '../store/suite/turns/called-turn.ts';
import { Turn } from '../store/suite/turns/turn.ts';

const STEPS = 12;
const CALLS = 20;

let store: PostgresStore;
let root: Turn;

/** One turn whose steps have agents run, more than a root has that is read whole; the last step's are still under way. */
beforeAll(async () => {
  store = await openStore(await databaseWithStore());
  root = new Turn(store);
  await root.opened(1);
  for (let step = 1; step <= STEPS; step++) {
    if (step > 1) await root.opened(step);
    await root.commit(step, CALLS);
    for (let index = 0; index < CALLS; index++) {
      const child = new CalledTurn(root, index, { step });
      await child.opened(1, { text: `${step}.${index}` });
      if (step === STEPS && index > 0) continue;
      await child.commit(1, 0);
      await root.settle(step, index, { result: 'done' });
    }
  }
});
afterAll(async () => {
  await store.close();
});

/** The store, and how many agents it has told of at most at once. */
function counted(): { counting: PostgresStore; most: () => number } {
  let most = 0;
  const counting = wrappedStore(store, (operation, own) => {
    if (operation !== 'turns.findChildren' && operation !== 'turns.listChildren') return undefined;
    return async (...given) => {
      const told = (await own(...given)) as { children: unknown[] } | unknown[];
      most = Math.max(most, 'children' in told ? told.children.length : told.length);
      return told;
    };
  });
  return { counting, most: () => most };
}

async function followed(from: string, count: number, of: PostgresStore): Promise<FollowedEvent[]> {
  const given: FollowedEvent[] = [];
  const after = parsePlace(from);
  if (after === undefined) throw new Error(`no place: ${from}`);
  for await (const event of followSession(of, root.names, { after })) {
    given.push(event);
    if (given.length === count) break;
  }
  return given;
}

test('a follower of a session that has had many agents reads those whose calls are open, and all in order [tree.events]', async () => {
  // The message; of each step the calls, a message and an answer of each agent, and the responses.
  const count = 1 + STEPS * (1 + 2 * CALLS) + (STEPS - 1) - (CALLS - 1);
  const all = await followed('0', count, store);
  const keys = all.map(({ holdfast, seq }) => `${holdfast?.sessionId ?? ''}:${seq}`);
  expect(new Set(keys).size).toBe(count);
  let step = 0;
  for (const { holdfast, kind, event } of all) {
    if (holdfast === undefined && kind === 'model') step += 1;
    const said = event.content?.parts?.[0]?.text;
    if (holdfast !== undefined && said !== 'done') expect(said?.split('.')[0]).toBe(String(step));
  }
  expect(all.filter(({ holdfast }) => holdfast === undefined).map(({ seq }) => seq)).toEqual(
    Array.from({ length: 2 * STEPS }, (_, index) => index + 1),
  );

  const { counting, most } = counted();
  const end = await followed(String(2 * STEPS), CALLS + 1, counting);
  expect(end.every(({ holdfast }) => holdfast !== undefined)).toBe(true);
  expect(most()).toBe(CALLS);
  // Behind each place comes what comes there, whatever has been before.
  for (const at of [0, 5, 200, 470, count - 4]) {
    const { place, seq } = all[at] as FollowedEvent;
    const rest = await followed(place ?? String(seq), 3, store);
    expect(new Set(rest.map(({ holdfast, seq }) => `${holdfast?.sessionId ?? ''}:${seq}`)).size).toBe(3);
    for (const { holdfast, seq } of rest) {
      expect(keys.indexOf(`${holdfast?.sessionId ?? ''}:${seq}`)).toBeGreaterThan(at);
    }
  }
});
