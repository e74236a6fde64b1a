import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { stepCalls } from '../setup/scripts.ts';
import { until } from '../setup/until.ts';
import type { StoreOperation } from '../setup/wrapped-store.ts';
import { startTaskServer, type TaskServer } from './task-server.ts';

let server: CrashServer;
let farm: TaskServer;
beforeAll(async () => {
  server = await CrashServer.open();
});
beforeEach(async () => {
  farm = await startTaskServer('2026-07-28');
});
afterAll(() => server.close());

const script = stepCalls([[{ name: 'render', args: { film: 'Metropolis' } }]]);
const rendered = { content: [{ type: 'text', text: 'rendered' }] };
const inputRequests = {
  size: {
    method: 'elicitation/create',
    params: {
      message: 'Which size?',
      requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
    },
  },
};

/** Plays a call that a worker begins, and another one finishes, with a question between. */
async function play(
  hang: { when: 'before' | 'after'; operation: StoreOperation; call: number },
  { asked, answered }: { asked: () => Promise<unknown>; answered: () => void },
): Promise<void> {
  await using _farm = farm;
  await CrashScene.play(server, script, async (scene) => {
    const variables = { MCP_SERVER_OF_TEST: farm.url };
    const worker = await scene.startWorker(hang, { variables });
    const turn = await scene.client.sendMessage(scene.turn);
    await asked();
    await worker.hanging;
    await worker.kill();
    await scene.startWorker(undefined, { variables });
    const { requestId } = await scene.withStore((store) =>
      until(async () => {
        const [found] = await store.approvals.list({ ...scene.names, status: ['pending'] });
        if (found === undefined) throw new Error('nobody was asked');
        return found;
      }),
    );
    answered();
    await scene.client.approvals.provideInput({ ...scene.names, requestId }, { response: { size: '4K' } });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(scene.told(1)).toEqual({ output: 'rendered' });
  });
}

describe('a worker that is killed', () => {
  test.each([
    ['after', 'turns.recordOnce', 1],
    ['before', 'jobs.park', 1],
    ['after', 'jobs.park', 1],
    ['before', 'jobs.resume', 1],
    ['after', 'jobs.resume', 1],
  ] as const)(
    '%s %s leaves the task of an MCP server to another one, which asks people [mcp.tasks.kill]',
    async (when, operation, call) => {
      await play(
        { when, operation, call },
        {
          asked: async () => {
            await until(() => expect(farm.effects).toBe(1));
            if (operation !== 'turns.recordOnce')
              await until(() => expect(farm.of('tasks/get').length).toBeGreaterThan(0));
            farm.task = { status: 'input_required', inputRequests };
          },
          answered: () => {
            farm.task = { status: 'completed', result: rendered };
          },
        },
      );
      expect(farm.effects).toBe(1);
      expect(farm.of('tasks/update').map(({ params }) => params.inputResponses)).toEqual([
        { size: { action: 'accept', content: { size: '4K' } } },
      ]);
    },
    120_000,
  );

  test('after the questions of a call leaves them to another one, which sends the answers [mcp.tasks.kill]', async () => {
    farm.answersCall = { resultType: 'input_required', inputRequests, requestState: 'state-1' };
    await play(
      { when: 'after', operation: 'turns.recordOnce', call: 1 },
      {
        asked: () => until(() => expect(farm.effects).toBe(1)),
        answered: () => {
          farm.answersCall = { ...rendered, resultType: 'complete' };
        },
      },
    );
    expect(farm.of('tools/call').map(({ params }) => params.requestState)).toEqual([undefined, 'state-1']);
  }, 120_000);
});
