import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { ToolAgent } from '../../src/agents/tool-agent.ts';
import { App } from '../../src/app/app.ts';
import {
  type Access,
  createGateway,
  defineGateway,
  type ServedGateway,
  serveGateway,
} from '../../src/gateway/index.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import { ABOUT, collecting, type LoggedLine } from '../gateway/gateway-stub.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';

const held = new HeldTool();
const paid: number[] = [];
const lines: LoggedLine[] = [];
const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  isReadOnly: true,
  execute: ({ a, b }) => ({ sum: a + b }),
});
const pay = tool({
  name: 'pay',
  description: 'Pays an amount.',
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: true,
  execute: ({ amount }) => {
    paid.push(amount);
    return { paid: amount };
  },
});

/** One person, who may do all that a caller by MCP may. */
const access: Access = {
  reach: 'network',
  screen: () => undefined,
  authenticate: ({ headers }) =>
    headers.get('authorization') === 'Bearer of-ada'
      ? {
          ...{ name: 'ada', person: 'ada', userId: 'ada' },
          may: ({ app, userId }) => (app === 'shop' && userId === 'ada' ? 'allowed' : 'hidden'),
        }
      : 'unauthenticated',
};

let inner: TurnEnvironment;
let outer: TurnEnvironment;
let served: ServedGateway;

beforeAll(async () => {
  const desk = new ToolAgent({ name: 'desk', tools: [add, pay, held.tool()] });
  const support = new LlmAgent({
    name: 'support',
    description: 'Answers questions about orders.',
    model: 'gemini-2.5-flash',
  });
  const credentialKeys = { k1: randomBytes(32).toString('base64') };
  inner = await openTurnEnvironment({
    workerOptions: { credentialKeys },
    apps: [new App({ name: 'shop', rootAgent: support })],
    agents: [support, desk],
  });
  const { client, store } = inner;
  const gateway = createGateway({
    client,
    access,
    about: () => ({ ...ABOUT, apps: ['shop'] }),
    ready: async () => ({ temporal: true, store: true }),
    records: store,
    credentialKeys,
    settings: defineGateway({ mcp: { agents: [support, desk] } }),
    logger: collecting(lines),
  });
  served = await serveGateway({ gateway });
  const toolset = new MCPToolset(
    { type: 'StreamableHTTPConnectionParams', url: `${served.url}/mcp` },
    [],
    'shop',
    { headers: () => ({ authorization: 'Bearer of-ada' }) },
  );
  const rootAgent = new LlmAgent({ name: 'buyer', model: 'gemini-2.5-flash', tools: [toolset] });
  outer = await openTurnEnvironment({ apps: [new App({ name: 'office', rootAgent })] });
});
beforeEach(() => {
  paid.length = 0;
  held.hold();
});
afterAll(async () => {
  held.release();
  await outer?.close();
  await served?.close();
  await inner?.close();
});

/** A turn of the outer Holdfast whose model makes one call. */
async function started(name: string, args: Record<string, unknown>) {
  outer.gemini.reset(stepCalls([[{ name, args }]]));
  const names = { app: 'office', userId: 'bob', sessionId: randomUUID() };
  const turn = await outer.client.sendMessage({ ...names, message: 'go' });
  const told = async () => {
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    return JSON.stringify(outer.gemini.requests.at(-1)?.body.contents);
  };
  const asked = () =>
    until(async () => {
      const [found] = await outer.client.approvals.list({ ...names, status: ['pending'] });
      if (found === undefined) throw new Error('nobody was asked');
      return found;
    });
  return { names, told, asked };
}

const CALLER = { app: 'shop', userId: 'ada' };
const statusesIn = async () => {
  const { sessions } = await inner.client.sessions.list(CALLER);
  return await Promise.all(
    sessions.map(async ({ sessionId }) => (await inner.client.status({ ...CALLER, sessionId }))?.status),
  );
};
const callsIn = async () => (await inner.client.sessions.list(CALLER)).sessions.length;

test('a short call of its tools and of its agents is answered at once [mcp.own]', async () => {
  const before = await callsIn();
  expect(await (await started('shop_add', { a: 2, b: 3 })).told()).toContain('{"sum":5}');
  // Models of both have one mock: the agent there says what the script ends with.
  const said = await (await started('shop_support', { message: 'Where is my order?' })).told();
  expect(said).toMatch(/"status":"completed","session":"mcp-[\w-]+","answer":"done"/);
  expect(await callsIn()).toBe(before + 2);
});

test('a long call is a task there and a job here, and goes on in another worker [mcp.own]', async () => {
  const { names, told } = await started('shop_hold', {});
  await held.begun();
  await until(async () => {
    const [job] = await outer.client.jobs.list(names);
    expect(job).toMatchObject({ tool: 'shop_hold', mode: 'parked', status: 'running' });
  });
  const calls = await callsIn();
  await outer.restartWorker();
  held.release();
  expect(await told()).toContain('{"held":true}');
  expect(await callsIn()).toBe(calls);
});

test('a job that is cancelled here interrupts the turn there [mcp.own]', async () => {
  const { names, told } = await started('shop_hold', {});
  await held.begun();
  const { jobId } = await until(async () => {
    const [job] = await outer.client.jobs.list(names);
    if (job?.mode !== 'parked') throw new Error('the call has no job');
    return job;
  });
  expect(await statusesIn()).toContain('running');
  await outer.client.jobs.cancel(jobId, { reason: 'no longer needed' });
  expect(await told()).toContain('no longer needed');
  // A turn there that still runs would wait for its tool for ever: nobody lets it go.
  await until(async () => expect(await statusesIn()).not.toContain('running'));
});

test.each([
  [true, '{"paid":7}', [7]],
  [false, /reject/i, []],
] as const)(
  'its gate asks a person here, and takes the answer %s [mcp.own]',
  async (approve, words, done) => {
    const { names, told, asked } = await started('shop_pay', { amount: 7 });
    const { requestId, hint, kind } = await asked();
    expect(kind).toBe('input');
    expect(hint).toMatch(/desk asks to run pay with \{\s*"amount": 7\s*\}/);
    expect(paid).toEqual([]);
    await outer.client.approvals.provideInput({ ...names, requestId }, { response: { approve } });
    expect(await told()).toMatch(words);
    expect(paid).toEqual(done);
    const status = approve ? 'approved' : 'rejected';
    const [row] = await inner.client.approvals.list({ ...CALLER, status: [status] });
    expect(row?.votes[0]?.by).toMatchObject({ principal: 'ada', verified: true });
  },
);
