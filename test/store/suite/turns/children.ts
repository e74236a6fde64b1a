import { expect, test } from 'vitest';
import { createEventActions } from '../../../../src/events/event-actions.ts';
import { stepKeyOf } from '../../../../src/protocol/identity.ts';
import type { InvocationOutcome } from '../../../../src/protocol/turn.ts';
import type { StoreNotice } from '../../../../src/store/live/live-feed.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { Fenced, NotARootSession } from '../../../../src/store/store-errors.ts';
import { CalledTurn, runInSession } from './called-turn.ts';
import { nextFence, Turn, total, USAGE } from './turn.ts';

const INTERRUPTED: InvocationOutcome = { status: 'interrupted', usage: USAGE };

export function childSuite(store: () => PostgresStore): void {
  /** A turn whose first step has so many calls, each of which may run an agent. */
  async function calling(
    calls: number,
    stateDelta: Record<string, unknown> = {},
    requester?: string,
  ): Promise<Turn> {
    const turn = new Turn(store());
    await turn.opened(1, { stateDelta, ...(requester === undefined ? {} : { requester }) });
    await turn.commit(1, calls);
    return turn;
  }

  test('the session of a called agent begins with its caller’s state, and tells how its own came to differ [agentTool.state]', async () => {
    const root = await calling(1, {
      'temp:note': 1,
      'temp:_holdfast_tools': [],
      'temp:HOLDFAST_question': {},
      plan: 'gold',
      kept: { a: 1 },
      _adk_internal: true,
      'user:name': 'Ada',
      gone: 1,
    });
    const child = new CalledTurn(root);
    const opened = await child.opened(1, { text: 'what is it?' });
    expect(opened.state).toEqual({
      'temp:note': 1,
      plan: 'gold',
      kept: { a: 1 },
      gone: 1,
      'user:name': 'Ada',
    });
    expect(opened.names).toEqual({ ...root.names, sessionId: child.invocationId });
    expect(opened.root).toEqual({ session: root.session, names: root.names });
    // Another attempt at it sees the same.
    expect((await child.opened(1)).state).toEqual(opened.state);
    await child.commit(1, 0, {
      text: 'it is 42',
      actions: { stateDelta: { plan: 'silver', made: [1], gone: null, 'user:seen': true, 'temp:note': 2 } },
    });
    expect(await store().turns.endChild(root.session, child.invocationId)).toEqual({
      session: child.session,
      outcome: expect.objectContaining({ status: 'completed' }),
      text: 'it is 42',
      stateDelta: { plan: 'silver', made: [1], gone: null },
      artifactDelta: {},
    });
    expect((await store().sessions.get(root.names))?.state).toMatchObject({
      plan: 'gold',
      'user:seen': true,
    });
  });

  test('what called agents use is used by all above them, at any depth [tree.budget]', async () => {
    const root = await calling(2);
    const first = new CalledTurn(root, 0);
    expect((await first.opened(1)).treeUsage).toEqual(total(1));
    await first.commit(1, 1);
    const deep = new CalledTurn(first, 0);
    const opened = await deep.opened(1);
    expect(opened.treeUsage).toEqual(total(2));
    expect(opened.usage).toEqual(total(0));
    expect(opened.root).toEqual({ session: root.session, names: root.names });
    await deep.commit(1, 0, { usage: { ...USAGE, cost: 0.5 } });
    const second = new CalledTurn(root, 1);
    expect((await second.opened(1)).treeUsage).toEqual({ ...total(3), cost: 0.5 });
    await second.commit(1, 0, { usage: { ...USAGE, cost: 0.25 } });
    await first.settle(1, 0, { result: 'done' });
    expect((await first.opened(2)).usage).toEqual({ ...total(2), cost: 0.5 });
    expect((await store().sessions.get(root.names))?.usage).toEqual({ ...total(4), cost: 0.75 });
    await root.settle(1, 0, { result: 'done' });
    await root.settle(1, 1, { result: 'done' });
    expect((await root.opened(2)).usage).toEqual({ ...total(4), cost: 0.75 });
    const committed = await root.commit(2, 0);
    expect(committed.outcome).toMatchObject({ outcome: { usage: { ...total(5), cost: 0.75 } } });
  });

  test('many called agents at once lose nothing of what they use [tree.budget]', async () => {
    const root = await calling(8);
    await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const child = new CalledTurn(root, index);
        await child.opened(1);
        await child.commit(1, 1);
        await child.settle(1, 0, { ok: true });
        await child.opened(2);
        await child.commit(2, 0);
      }),
    );
    expect((await store().sessions.get(root.names))?.usage).toEqual(total(17));
    const children = await store().turns.listChildren(root.names);
    expect(new Set(children.map(({ callKey }) => callKey)).size).toBe(8);
    expect(children.every(({ status, parent }) => status === 'completed' && parent === root.session)).toBe(
      true,
    );
  });

  test('a called agent that has ended without a word is ended, and those below it [tree.cancel]', async () => {
    const root = await calling(1);
    const child = new CalledTurn(root);
    await child.opened(1);
    await child.commit(1, 1);
    const deep = new CalledTurn(child);
    await deep.opened(1);
    await deep.commit(1, 1);
    expect(await store().turns.endChild(root.session, 'e-unknown')).toBeUndefined();
    expect(await store().turns.endChild(root.session, child.invocationId)).toMatchObject({
      outcome: { status: 'interrupted', usage: total(2) },
      stateDelta: {},
    });
    expect((await store().turns.listChildren(root.names)).map(({ status }) => status)).toEqual([
      'interrupted',
      'interrupted',
    ]);
    const [, , responses] = await deep.events();
    expect(responses).toMatchObject({ kind: 'responses' });
    await expect(deep.open(2)).resolves.toMatchObject({ kind: 'finished' });
  });

  test('the next turn of the root ends what the one before has left running below it [tree.cancel]', async () => {
    const root = await calling(1);
    const child = new CalledTurn(root);
    await child.opened(1);
    const next = new Turn(store(), { names: root.names });
    await next.opened(1, { text: 'and now?' });
    expect(await store().turns.listChildren(root.names)).toMatchObject([{ status: 'interrupted' }]);
    // The attempt that said nothing may have asked the model.
    expect((await store().sessions.get(root.names))?.usage).toEqual({
      ...total(1),
      modelCalls: 2,
      unknownCalls: 1,
    });
    await expect(child.commit(1, 0)).rejects.toThrow(Fenced);
  });

  test('one that was broken off goes on under a newer fence, and what it has done is done [tree.cancel]', async () => {
    const root = await calling(1, { 'temp:note': 1 });
    const child = new CalledTurn(root);
    await child.opened(1);
    await child.commit(1, 2);
    await child.begin(1, 0);
    await child.settle(1, 0, { ok: true });
    await child.end(1, [], INTERRUPTED);
    expect(await child.open(1)).toMatchObject({ kind: 'finished' });
    child.fence = nextFence();
    root.fence = child.fence;
    expect(await child.open(1)).toMatchObject({ kind: 'recorded' });
    expect((await store().turns.listChildren(root.names))[0]).toMatchObject({ status: 'running' });
    expect(await child.begin(1, 0)).toMatchObject({ kind: 'settled', response: { ok: true } });
    expect(await child.begin(1, 1)).toMatchObject({ kind: 'settled', failed: true });
    const events = (await child.events()).length;
    const opened = await child.opened(2);
    expect(opened.state).toEqual({ 'temp:note': 1 });
    expect((await child.events()).length).toBe(events);
    await child.commit(2, 0, { text: 'after all' });
    expect(await store().turns.endChild(root.session, child.invocationId)).toMatchObject({
      text: 'after all',
      outcome: { status: 'completed' },
    });
  });

  test('agents of one session that are lost are ended with what they have left, others go on [tree.cancel]', async () => {
    const root = new Turn(store());
    await root.opened(1);
    await root.commit(1, 0, {});
    const running = new Turn(store(), { names: root.names });
    await running.opened(1);
    const [lost, other] = [runInSession(running, 0), runInSession(running, 1)];
    await lost.open();
    expect(await other.open()).toMatchObject({ kind: 'open', treeUsage: total(0) });
    const { invocationId, session, fence } = running;
    await store().turns.settleStep({
      ...{ session, invocationId, runKey: invocationId, step: 1, fence, agent: 'team', unsettled: [] },
      lost: [{ runKey: lost.runKey }],
    });
    expect(await lost.open()).toMatchObject({ kind: 'finished', outcome: { status: 'interrupted' } });
    expect(await other.open()).toMatchObject({ kind: 'open', attempt: 2 });
    // Those of a newer chain are not this one's to end.
    const newer = { ...nextFence(), invocation: fence.invocation };
    running.fence = newer;
    await running.opened(1);
    expect(await lost.open(newer)).toMatchObject({ kind: 'open' });
    await store().turns.settleStep({
      ...{ session, invocationId, runKey: invocationId, step: 1, fence: newer, agent: 'team', unsettled: [] },
      lost: [],
    });
    expect(await lost.open(newer)).toMatchObject({ kind: 'open' });
  });

  test('such a session is in no list, takes no turns and is not forked, rewound or deleted by itself [tree.requests]', async () => {
    const root = await calling(1);
    const child = new CalledTurn(root);
    await child.opened(1);
    await child.commit(1, 0);
    const { app, userId } = root.names;
    const listed = await store().sessions.list({ app, userId });
    expect(listed).toMatchObject({ sessions: [{ sessionId: root.names.sessionId }] });
    expect(await store().sessions.list({ app, withTotal: true })).toEqual({ ...listed, totalItems: 1 });
    expect(await store().sessions.idleSince(app, Date.now() + 60_000, 10)).toHaveLength(1);
    // To be read by its name it is there.
    expect((await store().sessions.get(child.names))?.events).toHaveLength(2);
    const stranger = new Turn(store(), { names: child.names });
    await expect(stranger.open(1)).rejects.toThrow(NotARootSession);
    await expect(store().sessions.fork(child.names)).rejects.toThrow(NotARootSession);
    await expect(store().sessions.delete(child.names)).rejects.toThrow(NotARootSession);
    await expect(
      store().sessions.rewind({ ...child.names, beforeInvocationId: child.invocationId }),
    ).rejects.toThrow(NotARootSession);
    await expect(
      store().sessions.append({
        ...child.names,
        key: 'k',
        event: { invocationId: '', author: 'user', actions: createEventActions() },
      }),
    ).rejects.toThrow(NotARootSession);
    expect(await child.events()).toHaveLength(2);
  });

  test('a session that a user has made is no agent’s of a call [tree.requests]', async () => {
    const root = await calling(1);
    const child = new CalledTurn(root);
    const own = new Turn(store(), { names: child.names });
    await own.opened(1);
    await expect(child.open(1)).rejects.toThrow(NotARootSession);
    expect(await own.events()).toHaveLength(1);
  });

  test('requests of any depth are listed under the root, by its name, and whoever asked there has asked [tree.requests]', async () => {
    const root = await calling(1, {}, 'grace');
    const child = new CalledTurn(root);
    await child.opened(1);
    await child.commit(1, 1);
    const deep = new CalledTurn(child);
    await deep.asked();
    const [request, ...more] = await store().approvals.list(root.names);
    expect(more).toEqual([]);
    expect(request).toMatchObject({ ...root.names, session: deep.session, requester: 'grace' });
    expect(await store().approvals.find(request?.requestId ?? '')).toMatchObject(root.names);
    expect(await store().approvals.list({ app: root.names.app, userId: root.names.userId })).toHaveLength(1);
    expect(await store().approvals.list({ ...root.names, sessionId: 'another' })).toEqual([]);
    await store().turns.endChild(root.session, child.invocationId);
    expect(await store().approvals.list({ ...root.names, status: ['cancelled'] })).toHaveLength(1);
  });

  test('goes with its root, and leaves nothing [session.delete]', async () => {
    const root = await calling(1);
    const child = new CalledTurn(root);
    await child.opened(1);
    await child.commit(1, 1);
    const deep = new CalledTurn(child);
    await deep.opened(1);
    await root.end(1, [], INTERRUPTED);
    expect(await store().sessions.delete(root.names)).toHaveLength(1);
    for (const { names } of [root, child, deep]) {
      expect(await store().sessions.get(names)).toBeUndefined();
      expect(await store().sessions.readEvents(names)).toEqual([]);
    }
    for (const table of ['sessions', 'events', 'runs', 'ledger'] as const) {
      const column = table === 'sessions' ? 'id' : 'session_id';
      const left = await store()
        .db.selectFrom(`holdfast.${table}`)
        .selectAll()
        .where(column as never, 'in', [root.session, child.session, deep.session] as never)
        .execute();
      expect(left).toEqual([]);
    }
  });

  test('of a root with few agents all are found, of one with many those that are asked for [tree.events]', async () => {
    const root = await calling(1);
    const other = await calling(1);
    const few = new CalledTurn(root);
    await few.opened(1);
    const stranger = new CalledTurn(other);
    await stranger.opened(1);
    const none = { steps: [], runKeys: [] };
    expect(await store().turns.findChildren(root.names, none)).toEqual({
      children: await store().turns.listChildren(root.names),
      areAll: true,
    });
    for (let attempt = 2; attempt <= 201; attempt++) await new CalledTurn(root, 0, { attempt }).opened(1);
    await root.settle(1, 0, { result: 'done' });
    await root.opened(2);
    await root.commit(2, 2);
    const late = new CalledTurn(root, 1, { step: 2 });
    await late.opened(1);
    const deep = new CalledTurn(late);
    await late.commit(1, 1);
    await deep.opened(1);
    expect(await store().turns.findChildren(root.names, none)).toEqual({ children: [], areAll: false });
    const found = await store().turns.findChildren(root.names, {
      steps: [
        { session: root.session, step: stepKeyOf(root.invocationId, 2) },
        { session: late.session, step: stepKeyOf(late.invocationId, 1) },
        { session: other.session, step: stepKeyOf(other.invocationId, 1) },
      ],
      runKeys: [few.invocationId, late.invocationId, stranger.invocationId, root.names.sessionId],
    });
    expect(found.areAll).toBe(false);
    expect(found.children.map(({ session }) => session)).toEqual([few.session, late.session, deep.session]);
    expect(await store().turns.listChildren(root.names)).toEqual(expect.arrayContaining(found.children));
  });

  test('of each run the events of its latest step are read, and of no other [tree.events]', async () => {
    const root = await calling(1);
    const beside = runInSession(root, 0);
    await beside.open();
    await root.settle(1, 0, { result: 'done' });
    await root.opened(2);
    await root.commit(2, 1);
    const events = await store().sessions.readEvents(root.names);
    const to = events.length;
    const latest = (from: number, last: number) =>
      store().turns.readLatestSteps({ ...root.names, from, to: last });
    expect(events.map(({ kind, step }) => `${kind} ${step}`)).toEqual([
      'message 1',
      'model 1',
      'responses 1',
      'model 2',
    ]);
    expect(await latest(1, to)).toEqual(events.slice(3));
    expect(await latest(1, 3)).toEqual(events.slice(0, 3));
    expect(await latest(2, 2)).toEqual(events.slice(1, 2));
    expect(await latest(to + 1, to + 9)).toEqual([]);
  });

  test('followers of the root are told of it, once [tree.events]', async () => {
    const root = await calling(1);
    const heard: StoreNotice[] = [];
    const stop = store().live.watch(root.session, (notice) => heard.push(notice));
    const child = new CalledTurn(root);
    await child.opened(1);
    await child.opened(1);
    stop();
    expect(heard.filter(({ type }) => type === 'child')).toEqual([
      {
        type: 'child',
        session: root.session,
        child: child.session,
        runKey: child.invocationId,
        callKey: child.calledBy,
        path: ['clerk', 'helper'],
      },
    ]);
  });
}
