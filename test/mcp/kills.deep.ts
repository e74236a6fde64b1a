import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { linkUrl, signApprovalLink } from '../../src/approvals/approval-link.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { networkAccess, serveGateway } from '../../src/gateway/index.ts';
import { ABOUT, collecting } from '../gateway/gateway-stub.ts';
import { readPage, sendForm } from '../pages/browser-form.ts';
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

const key = randomBytes(32).toString('base64');
const credentialKeys = { k1: key };

/** Answers by the form of a signed link, at a gateway that runs elsewhere. */
async function answeredByLink(scene: CrashScene, size: string): Promise<void> {
  await scene.withStore(async (store) => {
    const { session, requestId }: ApprovalRow = await until(async () => {
      const [found] = await store.approvals.list({ ...scene.names, status: ['pending'] });
      if (found === undefined) throw new Error('nobody was asked');
      return found;
    });
    await scene.worker?.kill();
    const { temporal, folder: taskQueue } = scene;
    const gateway = {
      ...{ client: new HoldfastClient({ temporal, store, taskQueue, credentialKeys }), credentialKeys },
      ...{ records: store, access: networkAccess({}), logger: collecting([]) },
      ...{ about: () => ABOUT, ready: async () => ({}) },
    };
    const served = await serveGateway({ gateway });
    try {
      const terms = { session, requestId, approver: 'mira' };
      const url = linkUrl(served.url, signApprovalLink(credentialKeysOf(credentialKeys), terms, Date.now()));
      const sent = await sendForm(url, await readPage(url), { 'in-0': size, do: 'answer' });
      expect(sent.status).toBeLessThan(400);
    } finally {
      await served.close();
    }
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

  test('after its server has asked is replaced by another one, which sends what a signed link has answered meanwhile [mcp.tasks.kill]', async () => {
    await using _farm = farm;
    farm.answersCall = { resultType: 'input_required', inputRequests, requestState: 'state-1' };
    await CrashScene.play(server, script, async (scene) => {
      const variables = { MCP_SERVER_OF_TEST: farm.url, HOLDFAST_CREDENTIAL_KEYS: `k1:${key}` };
      await scene.startWorker(undefined, { variables });
      const turn = await scene.client.sendMessage(scene.turn);
      await answeredByLink(scene, '4K');
      farm.answersCall = { ...rendered, resultType: 'complete' };
      await scene.startWorker(undefined, { variables });
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
      expect(scene.told(1)).toEqual({ output: 'rendered' });
    });
    expect(
      farm
        .of('tools/call')
        .map(({ params: { requestState, inputResponses } }) => [requestState, inputResponses]),
    ).toEqual([
      [undefined, undefined],
      ['state-1', { size: { action: 'accept', content: { size: '4K' } } }],
    ]);
  }, 120_000);
});
