import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';
import { startAskingServer } from './asking-server.ts';

let server: CrashServer;
beforeAll(async () => {
  server = await CrashServer.open();
});
afterAll(() => server.close());

const script = stepCalls([[{ name: 'book', args: { day: 'friday' } }]]);
const ALL = ['pending', 'answered', 'expired', 'cancelled'] as const;

/** Plays a call whose worker is killed while its question stands open. */
async function play(
  policy: 'retry' | 'fail',
  scenes: (scene: CrashScene, at: { requestId: string; goOn: () => Promise<unknown> }) => Promise<void>,
): Promise<{ asked: number; told: unknown[] }> {
  await using desk = await startAskingServer();
  await CrashScene.play(server, script, async (scene) => {
    const variables = { MCP_SERVER_OF_TEST: desk.url, MCP_UNKNOWN_OF_TEST: policy };
    const worker = await scene.startWorker(undefined, { variables });
    const turn = await scene.client.sendMessage(scene.turn);
    const requests = () =>
      scene.withStore(async (store) => await store.approvals.list({ ...scene.names, status: [...ALL] }));
    await until(async () => {
      const status = await scene.client.status(scene.names);
      expect(status?.waiting).toHaveLength(1);
    });
    const [{ requestId = '' } = {}] = await requests();
    await worker.kill();
    const goOn = () => scene.startWorker(undefined, { variables });
    await scenes(scene, { requestId, goOn });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    const status = policy === 'retry' ? 'answered' : 'cancelled';
    await until(async () => expect(await requests()).toMatchObject([{ requestId, status }]));
  });
  return { asked: desk.asked.length, told: desk.told };
}

describe('a worker that is killed while a question of an MCP server stands open', () => {
  const response = { people: 4 };

  test('leaves it to another one: the person who answers later was asked once [mcp.held.kill]', async () => {
    const seen = await play('retry', async (scene, { requestId, goOn }) => {
      await goOn();
      await scene.answer(requestId, response);
    });
    expect(seen).toEqual({ asked: 2, told: [{ action: 'accept', content: response }] });
  });

  if (isDeep) {
    test('finds the answer that came meanwhile [mcp.held.kill]', async () => {
      const seen = await play('retry', async (scene, { requestId, goOn }) => {
        const answered = scene.answer(requestId, response);
        await goOn();
        await answered;
      });
      expect(seen).toEqual({ asked: 2, told: [{ action: 'accept', content: response }] });
    });

    test('takes it away where the call is not repeated [mcp.held.kill]', async () => {
      const seen = await play('fail', async (scene, { goOn }) => {
        await goOn();
        await until(() => expect(JSON.stringify(scene.told(1))).toContain('may have run'));
      });
      expect(seen).toEqual({ asked: 1, told: [] });
    });
  }
});

if (isDeep) {
  test('a worker whose only slot holds a question can take no answer, until the limit frees it [mcp.held.slots]', async () => {
    await using desk = await startAskingServer();
    const connection = { type: 'StreamableHTTPConnectionParams', url: desk.url } as const;
    const tools = [new MCPToolset(connection, [], undefined, { elicitationTimeout: 4_000 })];
    const environment = await openTurnEnvironment({
      agents: [new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools })],
      workerOptions: { maxConcurrentActivityTaskExecutions: 1 },
      script,
    });
    try {
      const names = { app: 'test', userId: 'ada', sessionId: 'slots' };
      const { client, store } = environment;
      const turn = await client.sendMessage({ ...names, message: 'go' });
      const [request] = await until(async () => {
        const found = await store.approvals.list(names);
        expect(found).toHaveLength(1);
        return found;
      });
      const { requestId = '', workflowId = '' } = request ?? {};
      await environment.temporal.workflow.getHandle(workflowId).signal('provideInput', {
        requestId,
        response: { people: 4 },
      });
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
      expect(desk.told).toEqual([{ action: 'decline' }]);
      expect(await store.approvals.findRequest(request?.session ?? '', requestId)).toMatchObject({
        status: 'expired',
      });
    } finally {
      await environment.close();
    }
  });
}
