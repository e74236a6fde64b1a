import { fileURLToPath } from 'node:url';
import { Client, WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { type FaultGround, openFaultGround } from '../setup/fault-ground.ts';
import { SupervisedWorker } from '../setup/supervised-worker.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { EFFECTS, TREE_APP, TreeEffects, treeScript } from './killed-agents.ts';
import type { TreeWorkerOptions } from './tree-worker-process.ts';

const PROGRAM = fileURLToPath(new URL('tree-worker-process.ts', import.meta.url));
const TIME = 300_000;
const MOST_KILLS = inTier(1, Number.POSITIVE_INFINITY);

let ground: FaultGround;
let worker: SupervisedWorker<TreeWorkerOptions>;
let temporal: Client;
let client: HoldfastClient;
let effects: TreeEffects;

beforeAll(async () => {
  ground = await openFaultGround(treeScript);
  const { connection, folder, gemini, server, store } = ground;
  temporal = new Client({ connection });
  client = new HoldfastClient({ temporal, store, searchAttributes: true });
  effects = new TreeEffects(folder);
  const options = { address: server.address, socket: store.socket ?? '', folder };
  worker = new SupervisedWorker(PROGRAM, options, gemini.env, (notice) => store.live.hear(notice));
  await worker.start();
});
afterAll(async () => {
  await worker.stop();
  await ground.close();
});

const until = <T>(holds: () => T | Promise<T>) => vi.waitFor(holds, { timeout: TIME, interval: 100 });
const namesOf = (sessionId: string) => ({ app: TREE_APP, userId: 'ada', sessionId });

async function pending(sessionId: string, count: number) {
  return await until(async () => {
    const rows = await client.approvals.list(namesOf(sessionId));
    expect(rows).toHaveLength(count);
    return rows;
  });
}

/** Says yes at the root to all that waits, however deep, and however often it is said. */
async function approveAll(sessionId: string): Promise<void> {
  const root = temporal.workflow.getHandle(`${TREE_APP}/ada/${sessionId}`);
  for (const { requestId } of await client.approvals.list(namesOf(sessionId))) {
    try {
      await root.signal('confirm', { requestId, confirmed: true });
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}

async function isRunning({ workflowId }: TurnHandle): Promise<boolean> {
  return (await temporal.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';
}

/** Ids of calls, and of responses, each as often as it is there. */
function idsIn(events: readonly StoredEvent[]) {
  const parts = events.flatMap(({ event }) => event.content?.parts ?? []);
  return {
    calls: parts.flatMap(({ functionCall }) =>
      functionCall === undefined || functionCall.name?.startsWith('adk_') ? [] : (functionCall.id ?? ''),
    ),
    responses: parts.flatMap(({ functionResponse }) =>
      functionResponse === undefined || functionResponse.name?.startsWith('adk_')
        ? []
        : (functionResponse.id ?? ''),
    ),
  };
}

/** What the session and its sub-agents' have been told so far. */
async function transcriptsOf(sessionId: string): Promise<(readonly StoredEvent[])[]> {
  const children = await ground.store.turns.listChildren(namesOf(sessionId));
  const keys = [namesOf(sessionId), ...children.map(({ runKey }) => namesOf(runKey))];
  return await Promise.all(keys.map((key) => ground.store.sessions.readEvents(key)));
}

/** Nothing of the turn runs: all that is left of it waits for people. */
async function expectOnlyPeopleAwaited(workflowId: string): Promise<void> {
  const { raw } = await temporal.workflow.getHandle(workflowId).describe();
  expect(raw.pendingWorkflowTask ?? null).toBeNull();
  expect(raw.pendingActivities ?? []).toEqual([]);
  for (const child of raw.pendingChildren ?? []) await expectOnlyPeopleAwaited(child.workflowId ?? '');
}

/**
 * Each tool has answered, and had the effect that its answer tells of. A call whose worker died in between is answered too; its effect
 * may be there or not.
 */
async function expectAllAnswered(sessionId: string): Promise<void> {
  const responses = (await transcriptsOf(sessionId))
    .flat()
    .flatMap(({ event }) => event.content?.parts ?? [])
    .flatMap(({ functionResponse }) => functionResponse ?? [])
    .filter(({ name }) => name === 'look' || name === 'pay');
  expect(responses).toHaveLength(EFFECTS.all);
  const done = responses.flatMap(({ name, response }) => (response?.done ? `${name} ${response.done}` : []));
  expect(effects.read()).toEqual(expect.arrayContaining(done));
}

/** Whatever has happened: each call is answered once, no tool has had its effect twice, and nothing runs any more. */
async function expectWhole(turns: readonly TurnHandle[], sessionIds: readonly string[]): Promise<void> {
  for (const turn of turns) {
    expect(await turn.result()).toMatchObject({ status: 'completed' });
  }
  const all = effects.read();
  expect(new Set(all).size).toBe(all.length);
  for (const sessionId of sessionIds) {
    for (const transcript of await transcriptsOf(sessionId)) {
      const { calls, responses } = idsIn(transcript);
      expect(responses.toSorted()).toEqual(calls.toSorted());
      expect(new Set(calls).size).toBe(calls.length);
    }
  }
  // The list comes a moment behind the runs.
  await until(async () => {
    const open: string[] = [];
    for await (const { workflowId, status } of temporal.workflow.list()) {
      if (status.name === 'RUNNING') open.push(workflowId);
    }
    expect(open).toEqual([]);
  });
}

test(
  'the only worker is killed while agents three levels deep wait, and what people say meanwhile counts once [flow.resume] [agentTool.gates] [tree.requests]',
  async () => {
    const sessionId = 'waits';
    const turn = await client.sendMessage({ ...namesOf(sessionId), message: 'go' });
    const requests = await pending(sessionId, 2);
    expect(requests.map(({ path }) => path.join(' / ')).toSorted()).toEqual([
      'rounds / both / asking / expert',
      'rounds / both / steps / left',
    ]);
    await worker.stop();
    await approveAll(sessionId);
    await worker.start();
    // The next round's.
    await until(async () => {
      const rows = await client.approvals.list(namesOf(sessionId));
      expect(
        rows.filter(({ requestId }) => !requests.some((one) => one.requestId === requestId)),
      ).toHaveLength(2);
      await expectOnlyPeopleAwaited(turn.workflowId);
    });
    await worker.kill();
    await approveAll(sessionId);
    await expectWhole([turn], [sessionId]);
    await expectAllAnswered(sessionId);
  },
  TIME,
);

if (isDeep) {
  test(
    'the server is killed, and started with what it has kept [flow.resume] [tree.requests]',
    async () => {
      const sessionId = 'server';
      const turn = await client.sendMessage({ ...namesOf(sessionId), message: 'go' });
      await pending(sessionId, 2);
      await ground.server.kill();
      await ground.server.start();
      await until(async () => {
        await approveAll(sessionId);
        expect(await isRunning(turn)).toBe(false);
      });
      await expectWhole([turn], [sessionId]);
      await expectAllAnswered(sessionId);
    },
    TIME,
  );
}

if (isDeep) {
  test(
    'workers are killed again and again: each turn comes to its end, and no tool runs twice [flow.resume] [flow.parallel] [agentTool.run]',
    async () => {
      const sessionIds = ['chaos-1', 'chaos-2', 'chaos-3'];
      const turns = await Promise.all(
        sessionIds.map((sessionId) => client.sendMessage({ ...namesOf(sessionId), message: 'go' })),
      );
      let kills = 0;
      let had = effects.read().length;
      await until(async () => {
        for (const sessionId of sessionIds) await approveAll(sessionId);
        const running = await Promise.all(turns.map(isRunning));
        const count = effects.read().length;
        // In the midst of work, which goes on in between.
        if (running.includes(true) && count >= had + 3 && kills < MOST_KILLS) {
          had = count;
          kills += 1;
          await worker.kill();
        }
        expect(running).not.toContain(true);
      });
      expect(kills).toBeGreaterThanOrEqual(3);
      await expectWhole(turns, sessionIds);
    },
    TIME,
  );
}
