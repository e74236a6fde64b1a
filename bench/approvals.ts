import { randomBytes, randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { WorkflowHandle } from '@temporalio/client';
import { LlmAgent } from '../src/agents/llm-agent.ts';
import { App } from '../src/app/app.ts';
import { HoldfastClient } from '../src/client/holdfast-client.ts';
import { newKeyText } from '../src/gateway/access/key-text.ts';
import { configuredAccess, type GatewaySettings, serveGateway } from '../src/gateway/index.ts';
import { tool } from '../src/tools/function-tool.ts';
import type { BareTurn } from './bare-workflows.ts';
import { FakeLlm } from './fake-llm.ts';
import { BARE_QUEUE, HOLDFAST_QUEUE, openSetting } from './setting.ts';
import { quantile, table } from './statistics.ts';

/**
 * Approvals over HTTP by many clients at once, each with an API key of its own and an attestation that the worker checks, against updates of bare workflows
 * whose handler runs one activity with an insert into the same store: the answer in the client's hands.
 */
const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '25' },
    calls: { type: 'string', default: '20' },
    clients: { type: 'string', default: '50' },
  },
});
const turns = Number(values.turns);
const calls = Number(values.calls);
const clients = Number(values.clients);
const shape = { calls, parallel: true, resultBytes: 64 };
const credentialKeys = { k1: randomBytes(32).toString('base64') };
process.env.HOLDFAST_CREDENTIAL_KEYS = JSON.stringify(credentialKeys);

const keys = Array.from({ length: clients }, (_, n) => ({ ...newKeyText(), name: `person-${n}` }));

const pay = tool({
  name: 'work',
  description: 'waits for a person',
  parameters: {
    type: 'object',
    properties: { index: { type: 'integer' }, bytes: { type: 'integer' } },
    required: ['index', 'bytes'],
  },
  requireConfirmation: true,
  approval: { approvers: keys.map(({ name }) => name) },
  execute: () => ({}),
});
const rootAgent = new LlmAgent({ name: 'desk', model: new FakeLlm(), tools: [pay], maxParallelCalls: calls });
const setting = await openSetting({ apps: [new App({ name: 'approvals', rootAgent })] });
const { temporal, store } = setting;
const holdfast = new HoldfastClient({ temporal, store, taskQueue: HOLDFAST_QUEUE, searchAttributes: true });
for (const { keyId, digest, name } of keys) {
  await store.keys.create({ keyId, digest, name, grants: [{ app: 'approvals', roles: ['approve'] }] });
}
const silent = () => undefined;
const logger = { info: silent, warn: silent, error: silent, debug: silent };
// Few clients decide more than the limit of one lets them.
const settings: GatewaySettings = {
  access: { rateLimits: { principals: { perSecond: 10_000, burst: 10_000 } } },
};
const gateway = await serveGateway({
  gateway: {
    client: holdfast,
    about: () => ({
      v: 1,
      version: '0',
      namespace: 'default',
      taskQueue: 'holdfast',
      store: 'embedded',
      apps: [],
      agents: [],
    }),
    ready: async () => ({}),
    access: configuredAccess({ settings, records: store, logger }),
    records: store,
    settings,
    logger,
    credentialKeys,
  },
});
try {
  await measure('warm-up', await parked(2));
  const rows: string[][] = [];
  const taken: Record<string, number[]> = {};
  for (const [kind, decide] of [
    ['bare+write', await bareParked()],
    ['holdfast', await parked(turns)],
  ] as const) {
    const { each, seconds } = await measure(kind, decide);
    taken[kind] = each;
    const ms = (q: number) => quantile(each, q).toFixed(0);
    rows.push([kind, ms(0.5), ms(0.99), (each.length / seconds).toFixed(0)]);
  }
  console.log(
    table([[`${turns * calls} decisions, ${clients} at once`, 'p50 ms', 'p99 ms', 'a second'], ...rows]),
  );
  const [bare = [], ours = []] = [taken['bare+write'], taken.holdfast];
  const ratio = (q: number) => (quantile(ours, q) / quantile(bare, q)).toFixed(2);
  console.log(`ours / bare+write: p50 ${ratio(0.5)}, p99 ${ratio(0.99)}`);
} finally {
  await gateway.close();
  await setting.close();
}

/** By the client of this key. */
type Decision = (keyText: string) => Promise<void>;

async function measure(
  kind: string,
  decisions: readonly Decision[],
): Promise<{ each: number[]; seconds: number }> {
  const each: number[] = [];
  const left = [...decisions];
  const from = performance.now();
  const client = async ({ text }: { text: string }) => {
    for (let decide = left.pop(); decide !== undefined; decide = left.pop()) {
      const began = performance.now();
      await decide(text);
      each.push(performance.now() - began);
    }
  };
  await Promise.all(keys.map(client));
  const seconds = (performance.now() - from) / 1_000;
  console.error(`${kind}: ${seconds.toFixed(1)} s`);
  return { each, seconds };
}

async function parked(count: number): Promise<Decision[]> {
  const userId = randomUUID();
  const message = JSON.stringify(shape);
  for (let turn = 0; turn < count; turn++) {
    await holdfast.sendMessage({ app: 'approvals', userId, sessionId: `s${turn}`, message });
  }
  const list = () => holdfast.approvals.list({ app: 'approvals', userId, limit: 1_000 });
  let waiting = await list();
  while (waiting.length < count * calls) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    waiting = await list();
  }
  return waiting.map(({ requestId }) => async (keyText) => {
    const answer = await fetch(`${gateway.url}/v1/approvals/${requestId}/confirm?timeout=60000`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyText}`, 'content-type': 'application/json' },
      body: '{"confirmed":true}',
    });
    const text = await answer.text();
    if (answer.status !== 200 || !text.includes('"approved"')) throw new Error(text);
  });
}

async function bareParked(): Promise<Decision[]> {
  const turn: BareTurn = { ...shape, writes: 1 };
  const handles: WorkflowHandle[] = [];
  for (let n = 0; n < turns; n++) {
    handles.push(
      await temporal.workflow.start('decidedTurn', {
        taskQueue: BARE_QUEUE,
        workflowId: `bare-${randomUUID()}`,
        args: [turn],
      }),
    );
  }
  return handles.flatMap((handle) =>
    Array.from({ length: calls }, (_, call) => async () => {
      await handle.executeUpdate('decide', { args: [call] });
    }),
  );
}
