import { expect } from 'vitest';
import type { SESSIONS } from '../../src/contract/sessions.ts';
import type { STEERING, TURNS } from '../../src/contract/turns.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { ContractScene } from './contract-scene.ts';
import { pathOf, type RowsOf, timeout } from './operation-row.ts';

const RUNNING = {
  HOLDFAST_TURN_RUNNING: {
    given: async (scene: ContractScene, { app, userId, sessionId }: SessionNames) => {
      await scene.holding({ app, userId, sessionId });
      return {};
    },
    exit: 1,
  },
} as const;
const NOT_FOUND = { HOLDFAST_SESSION_NOT_FOUND: { given: () => ({ sessionId: 'none' }), exit: 1 } } as const;

/** Two turns: four events. */
const talked = ({ said, names }: ContractScene) => said(names(), 'one', 'two');

/** Asks for the third session, the oldest first. */
async function third<Whose extends { app: string }>({ env }: ContractScene, whose: Whose) {
  const list = { ...whose, limit: 1, order: 'asc' as const, withTotal: true };
  const { next = '' } = await env.client.sessions.list(list);
  return { ...list, after: next, offset: 1 };
}

export const SESSION_ROWS: RowsOf<typeof SESSIONS> = {
  createSession: {
    given: async ({ names }) => ({ ...names(), state: { 'user:tier': 'gold', n: 1 } }),
    ask: ({ sessions }, create) => sessions.create(create),
    answer: { app: 'test', seq: 0, state: { 'user:tier': 'gold', n: 1 }, events: [] },
    done: async ({ env }, { app, userId, sessionId = '' }) => {
      expect(await env.client.sessions.get({ app, userId, sessionId })).toMatchObject({
        state: { 'user:tier': 'gold', n: 1 },
      });
    },
    errors: {
      HOLDFAST_SESSION_EXISTS: {
        given: async ({ env }, names) => {
          await env.client.sessions.create(names);
          return {};
        },
      },
      HOLDFAST_INVALID_TURN: { given: () => ({ sessionId: 'a\0b' }) },
    },
  },
  listUserSessions: {
    given: async (scene) => {
      const { app, userId, sessionId } = await talked(scene);
      await scene.env.client.sessions.create({ app, userId, sessionId: `${sessionId}-2` });
      await scene.env.client.sessions.fork({ app, userId, sessionId, to: `${sessionId}-3` });
      await scene.env.client.sessions.create(scene.names());
      return await third(scene, { app, userId });
    },
    ask: ({ sessions }, list) => sessions.list(list),
    answer: {
      sessions: [{ sessionId: expect.stringMatching(/-3$/), lastAgent: 'desk', forkedFrom: { seq: 4 } }],
      totalItems: 3,
    },
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ limit: 0 }) } },
  },
  listAppSessions: {
    given: async (scene) => {
      const { env, names } = scene;
      const { sessionId: app } = names();
      for (const userId of ['ada', 'bob', 'eve', 'zoe']) {
        const { updatedAt } = await env.client.sessions.create({ app, userId, sessionId: 's1' });
        // Ties are in no order.
        await expect.poll(() => env.store.now()).toBeGreaterThan(updatedAt);
      }
      return await third(scene, { app });
    },
    ask: ({ sessions }, list) => sessions.list(list),
    answer: {
      sessions: [{ userId: 'eve', seq: 0, usage: { modelCalls: 0 } }],
      next: expect.any(String),
      totalItems: 4,
    },
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ order: 'up' }) } },
  },
  getSession: {
    given: async (scene) => {
      const names = await talked(scene);
      const session = await scene.env.store.sessions.get(names);
      const afterTimestamp = session?.events[3]?.event.timestamp ?? 0;
      return { ...names, numRecentEvents: 1, after: 2, afterTimestamp };
    },
    ask: ({ sessions }, get) => sessions.get(get),
    answer: {
      seq: 4,
      lastAgent: 'desk',
      events: [{ seq: 4, event: { author: 'desk' } }],
      usage: { modelCalls: 2 },
    },
    command: ({ afterTimestamp: _none, numRecentEvents, after, ...names }) => [
      ...['sessions', 'show', pathOf(names), '--last', `${numRecentEvents}`, '--after', `${after}`],
    ],
    errors: {
      HOLDFAST_SESSION_NOT_FOUND: { given: () => ({ sessionId: 'none' }), exit: 1 },
      HOLDFAST_INVALID_TURN: { given: () => ({ numRecentEvents: -1 }), exit: 2 },
    },
  },
  deleteSession: {
    given: async (scene) => {
      const names = await talked(scene);
      const { sessions } = scene.env.client;
      await sessions.fork({ ...names, to: `${names.sessionId}-2` });
      await scene.holding(names);
      return { ...names, cancelRunning: true, withForks: true, idleSince: Date.now() + 3_600_000, timeout };
    },
    ask: ({ sessions }, options) => sessions.delete(options),
    answer: { sessions: [{ app: 'test' }, { app: 'test' }], runs: expect.any(Number) },
    done: async ({ env }, { app, userId }) => {
      expect(await env.client.sessions.list({ app, userId })).toEqual({ sessions: [] });
    },
    command: (names) => ['sessions', 'delete', pathOf(names), '--yes', '--with-forks', '--cancel-running'],
    errors: {
      HOLDFAST_TURN_RUNNING: { given: () => ({ cancelRunning: false }) },
      HOLDFAST_SESSION_HAS_FORKS: { given: () => ({ withForks: false }) },
      HOLDFAST_INVALID_TURN: { given: () => ({ timeout: -1 }) },
    },
  },
  forkSession: {
    given: async (scene) => {
      const names = await talked(scene);
      return { ...names, at: 2, to: `${names.sessionId}-2` };
    },
    ask: ({ sessions }, fork) => sessions.fork(fork),
    answer: {
      sessionId: expect.stringMatching(/-2$/),
      seq: 2,
      forkedFrom: { seq: 2 },
      events: [{}, { seq: 2 }],
    },
    command: ({ at, to = '', ...names }) => ['sessions', 'fork', pathOf(names), '--at', `${at}`, '--to', to],
    printed: ({ sessionId }: { sessionId: string }, { app, userId }) => ({ app, userId, sessionId }),
    errors: {
      HOLDFAST_SESSION_EXISTS: { given: (_scene, { sessionId }) => ({ to: sessionId }), exit: 1 },
      HOLDFAST_NO_SUCH_PLACE: { given: () => ({ at: 99 }), exit: 1 },
      ...NOT_FOUND,
    },
  },
  rewindSession: {
    given: async (scene) => {
      const names = await talked(scene);
      const session = await scene.env.store.sessions.get(names);
      return { ...names, beforeInvocationId: session?.events[2]?.event.invocationId ?? '' };
    },
    ask: ({ sessions }, rewind) => sessions.rewind(rewind),
    answer: { seq: 5, kind: 'rewind', hidesAfter: 2 },
    command: ({ beforeInvocationId, ...names }) => [
      ...['sessions', 'rewind', pathOf(names), '--before', beforeInvocationId],
    ],
    errors: {
      HOLDFAST_NO_SUCH_PLACE: { given: () => ({ beforeInvocationId: 'e-none' }), exit: 1 },
      ...NOT_FOUND,
      ...RUNNING,
    },
  },
};

export const TURN_ROWS: RowsOf<typeof TURNS> = {
  listTurns: {
    given: async (scene) => {
      const { names } = await scene.parked();
      await scene.parked({ ...scene.names(), app: 'other' });
      await scene.holding();
      const list = { ...names, status: 'waiting_job', limit: 1 } as const;
      await expect.poll(async () => (await scene.env.client.turns(list)).length).toBe(1);
      await expect
        .poll(async () => (await scene.env.client.turns({ status: 'running' })).length)
        .toBeGreaterThan(0);
      return list;
    },
    ask: async (api, list) => ({ turns: await api.turns(list) }),
    answer: { turns: [{ app: 'test', status: 'waiting_job', agent: 'desk' }] },
    done: async ({ env, names }) => {
      const failed = names();
      await env.run({ ...failed, message: 'fail' });
      const list = { ...failed, status: 'failed' } as const;
      await expect.poll(() => env.client.turns(list)).toMatchObject([{ ...list }]);
    },
    command: ({ app = '', userId = '', sessionId = '', status = '', limit }) => [
      ...['turns', 'list', '--app', app, '--user', userId, '--session', sessionId],
      ...['--status', status, '--limit', `${limit}`],
    ],
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ status: 'done' }), exit: 2 } },
  },
};

export const STEERING_ROWS: RowsOf<typeof STEERING> = {
  getStatus: {
    given: async (scene) => ({ ...(await scene.holding()).names, timeout }),
    unseen: ['timeout'],
    ask: async (api, { timeout, ...names }) => ({ status: (await api.status(names, { timeout })) ?? null }),
    answer: { status: { status: 'running', running: [{ tool: 'hold' }], queued: 0 } },
    command: (names) => ['turns', 'status', pathOf(names)],
    errors: {
      HOLDFAST_NO_ANSWER: 'client/steering.test.ts',
      HOLDFAST_INVALID_TURN: { given: () => ({ timeout: Number.NaN }) },
    },
  },
  interruptTurn: {
    given: async (scene) => {
      const { names, invocationId } = await scene.holding();
      // Temporal ends a run that is sent too much.
      return { ...names, reason: 'enough '.repeat(500_000), invocationId, timeout };
    },
    ask: (api, { app, userId, sessionId, ...options }) => api.interrupt({ app, userId, sessionId }, options),
    answer: { confirmed: true, v: 1, invocationId: expect.any(String) },
    done: async ({ env }, names) => {
      await expect.poll(() => env.client.status(names, { timeout })).toBeUndefined();
      const events = JSON.stringify(await env.store.sessions.readEvents(names));
      expect(events).toContain('enough');
      expect(await env.client.interrupt(names)).toEqual({ v: 1, confirmed: true });
    },
    command: ({ reason = '', ...names }) => ['turns', 'interrupt', pathOf(names), '--reason', reason],
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ invocationId: '' }) } },
  },
  cancelCall: {
    given: async (scene) => {
      const { names, invocationId } = await scene.holding();
      return { ...names, callKey: `${invocationId}.1.0`, reason: 'takes too long', timeout };
    },
    without: { callId: 'turn/messages.test.ts' },
    ask: (api, { app, userId, sessionId, ...call }) => api.cancelCall({ app, userId, sessionId }, call),
    answer: { confirmed: true, v: 1, status: 'cancelling' },
    done: async ({ env }, names) => {
      await expect.poll(() => env.client.status(names, { timeout })).toBeUndefined();
      const events = JSON.stringify(await env.store.sessions.readEvents(names));
      expect(events).toContain('cancelled: takes too long');
      const late = env.client.cancelCall(names, { callKey: 'e-1.1.0' });
      await expect(late).rejects.toThrow(/no turn runs in session test\/ada/);
    },
    command: ({ callKey = '', reason = '', ...names }) => [
      ...['turns', 'cancel-call', pathOf(names), callKey, '--reason', reason],
    ],
    errors: {
      HOLDFAST_UNKNOWN_CALL: { given: () => ({ callKey: 'e-none.1.0' }), exit: 1 },
      HOLDFAST_INVALID_TURN: { given: () => ({ callId: 'adk-1' }) },
    },
  },
};
