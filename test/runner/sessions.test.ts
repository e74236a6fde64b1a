import * as adk from '@google/adk';
import { Runtime } from '@temporalio/worker';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createEvent,
  HoldfastSessionService,
  InMemorySessionService,
  type ListSessionsRequest,
  SessionExists,
} from '../../src/index.ts';
import { pageNumbers } from '../../src/runner/store-session-service.ts';

const ours = new InMemorySessionService();
const theirs = new adk.InMemorySessionService();
const both = [ours, theirs] as unknown as InMemorySessionService[];
const appName = 'shop';

/** Each session in both services. */
async function created(userId: string, sessionId: string, state: Record<string, unknown> = {}) {
  return await Promise.all(
    both.map((service) => service.createSession({ appName, userId, sessionId, state })),
  );
}

beforeAll(async () => {
  for (const [userId, id] of [
    ['ada', 's1'],
    ['ada', 's2'],
    ['bob', 's3'],
    ['ada', 's4'],
    ['ada', 's5'],
  ] as const) {
    await created(userId, id);
  }
});
afterAll(() => ours.close());

describe('sessions as in ADK [runner.sessions]', () => {
  test('are made, with their names, their state and a time', async () => {
    const [own, adks] = await created('eve', 'made', { plan: 'gold', 'temp:x': 1, nested: { a: [1] } });
    expect({ ...own, lastUpdateTime: 0 }).toEqual({ ...adks, state: { ...adks?.state }, lastUpdateTime: 0 });
    expect(Math.abs(Date.now() - (own?.lastUpdateTime ?? 0))).toBeLessThan(60_000);
    const { id } = await ours.createSession({ appName, userId: 'eve', sessionId: '' });
    expect(id.length).toBeGreaterThan(8);
    for (const service of both) {
      const key = { appName, userId: 'eve', sessionId: 'made' };
      expect((await service.getOrCreateSession(key)).state).toMatchObject({ plan: 'gold' });
      expect((await service.getOrCreateSession({ ...key, sessionId: 'other' })).state).toEqual({});
      await service.deleteSession(key);
      await service.deleteSession(key);
      expect(await service.getSession(key)).toBeUndefined();
    }
  });

  test('a second one of an id is refused, where ADK replaces the first', async () => {
    await expect(ours.createSession({ appName, userId: 'ada', sessionId: 's1' })).rejects.toThrow(
      SessionExists,
    );
  });

  test.each<Omit<ListSessionsRequest, 'appName'>>([
    {},
    { userId: 'ada' },
    { userId: 'nobody' },
    { userId: 'nobody', limit: 2, page: 3 },
    { userId: 'ada', limit: 2 },
    { userId: 'ada', limit: 3, offset: 1 },
    { userId: 'ada', limit: 2, page: 2 },
    { userId: 'ada', limit: 0 },
    { userId: 'ada', offset: 2 },
  ])('are listed: %o', async (request) => {
    const [own, adks] = await Promise.all(
      both.map((service) => service.listSessions({ appName, userId: 'ada', ...request })),
    );
    expect({ ...own, sessions: own?.sessions.length }).toEqual({ ...adks, sessions: adks?.sessions.length });
    expect(own?.sessions.every(({ events, state }) => events.length + Object.keys(state).length === 0)).toBe(
      true,
    );
  });

  test('are listed in the order of their last update', async () => {
    const idsOf = async (order: 'asc' | 'desc') =>
      (await ours.listSessions({ appName, userId: 'ada', order, limit: 2 })).sessions.map(({ id }) => id);
    expect([await idsOf('asc'), await idsOf('desc')]).toEqual([
      ['s1', 's2'],
      ['s5', 's4'],
    ]);
  });

  test('pages are counted as there', async () => {
    const page = fc.record(
      { limit: fc.nat(4), offset: fc.nat(6), page: fc.integer({ min: 1, max: 4 }) },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(page, async (paging) => {
        const { sessions, totalItems, ...numbers } = await theirs.listSessions({
          appName,
          userId: 'ada',
          ...paging,
        });
        expect({ ...pageNumbers(paging, totalItems) }).toEqual({ ...numbers, totalItems });
      }),
    );
  });
});

describe('appendEvent [runner.sessions]', () => {
  test('writes what a program says, and its state, as in ADK', async () => {
    const names = { appName, userId: 'ada', sessionId: 'appended' };
    const sessions = await created(names.userId, names.sessionId, { plan: 'silver' });
    const given = [
      {
        author: 'system',
        actions: { stateDelta: { plan: 'gold', 'user:vip': true, 'temp:x': 1, __proto__x: 1 } },
      },
      { author: 'user', content: { role: 'user', parts: [{ text: 'by telephone' }] } },
      {
        author: 'desk',
        content: { role: 'model', parts: [{ text: 'noted' }] },
        customMetadata: { by: 'Eve' },
      },
    ];
    const shown = (session: { state: object; events: object[] } | undefined) => ({
      state: session?.state,
      events: session?.events.map((event) => ({
        ...JSON.parse(JSON.stringify(event)),
        id: '',
        timestamp: 0,
        invocationId: '',
      })),
    });
    for (const [index, service] of both.entries()) {
      const session = sessions[index];
      if (session === undefined) throw new Error('there is no session');
      for (const params of given)
        await service.appendEvent({ session, event: createEvent(structuredClone(params)) });
      const partial = createEvent({ author: 'desk', partial: true });
      expect(await service.appendEvent({ session, event: partial })).toBe(partial);
    }
    const [own, adks] = await Promise.all(both.map((service) => service.getSession(names)));
    expect(shown(own)).toEqual(shown(adks));
    expect(shown(sessions[0])).toEqual(shown(own));
    const recent = await Promise.all(
      both.map((service) => service.getSession({ ...names, config: { numRecentEvents: 1 } })),
    );
    expect(recent.map((session) => session?.events.map(({ author }) => author))).toEqual([
      ['desk'],
      ['desk'],
    ]);
    const after = own?.events[1]?.timestamp ?? 0;
    const later = await ours.getSession({ ...names, config: { afterTimestamp: after + 0.5 } });
    expect(later?.events.every(({ timestamp }) => timestamp > after)).toBe(true);
  });

  test('appends an event once, and refuses calls, whose turns have them', async () => {
    const session = await ours.createSession({ appName, userId: 'ada' });
    const event = createEvent({ author: 'system', actions: { stateDelta: { n: 1 } } });
    await ours.appendEvent({ session, event });
    const again = await ours.appendEvent({ session, event });
    expect(session.events).toEqual([again]);
    const stored = await ours.getSession({ appName, userId: 'ada', sessionId: session.id });
    expect(stored?.events).toHaveLength(1);
    const calling = createEvent({ content: { parts: [{ functionCall: { name: 'pay', args: {} } }] } });
    await expect(ours.appendEvent({ session, event: calling })).rejects.toThrow(
      'calls and responses belong to turns',
    );
  });

  test('is refused by a client that has no way to do it', async () => {
    const remote = new HoldfastSessionService({ sessions: {} } as never);
    const session = { id: 's', appName, userId: 'ada', state: {}, events: [], lastUpdateTime: 0 };
    await expect(remote.appendEvent({ session, event: createEvent() })).rejects.toThrow(
      'this client appends no events',
    );
  });
});

test('sessions that were closed say so', async () => {
  const service = new InMemorySessionService();
  await service.close();
  await expect(service.createSession({ appName, userId: 'ada' })).rejects.toMatchObject({
    code: 'HOLDFAST_STORE_UNAVAILABLE',
    message: 'these sessions are closed: make another InMemorySessionService',
  });
});

test('sessions leave Temporal’s runtime to the program [runner.sessions]', async () => {
  await created('ada', 'alone');
  Runtime.install({ shutdownSignals: [] });
  await Runtime.instance().shutdown();
});
