import { randomBytes } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { ToolAgent } from '../../src/agents/tool-agent.ts';
import { App } from '../../src/app/app.ts';
import type { HoldfastApi } from '../../src/client/holdfast-api.ts';
import type { Permission } from '../../src/contract/lists.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import {
  type Access,
  createGateway,
  defineGateway,
  type Gateway,
  type ServedGateway,
  serveGateway,
} from '../../src/gateway/index.ts';
import { answerRequests, questionsOf } from '../../src/mcp/asked-people.ts';
import { openResult, turnIdOf, turnOfId } from '../../src/mcp/turn-answer.ts';
import type { JsonSchemaObject } from '../../src/schema/compiled-schema.ts';
import { declinable } from '../../src/schema/declinable-form.ts';
import { DefinitionError } from '../../src/schema/definition-error.ts';
import { text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ABOUT, collecting, type LoggedLine } from '../gateway/gateway-stub.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const held = new HeldTool();
const paid: unknown[] = [];
const lines: LoggedLine[] = [];

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
const raise = tool({
  name: 'raise',
  description: 'Raises a limit.',
  requireConfirmation: true,
  approval: { approvers: ['grace'] },
  execute: () => ({ raised: true }),
});
const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  isReadOnly: true,
  execute: ({ a, b }) => ({ sum: a + b }),
});
const fail = tool({
  name: 'fail',
  description: 'Fails.',
  retry: { maximumAttempts: 1 },
  execute: () => {
    throw new Error('the printer is on fire');
  },
});
const report = tool({
  name: 'report',
  description: 'Writes a report.',
  execute: async (_args, context) => {
    await context.saveArtifact('report.txt', { text: 'All is well.' });
    return { saved: true };
  },
});
const asking = (name: string, answer: string, message: string, responseSchema: JsonSchemaObject) =>
  tool({
    name,
    description: 'Asks a person.',
    execute: async (_args, context) => ({
      [answer]: await context.requestInput({ message, responseSchema }),
    }),
  });
const size = asking('order', 'ordered', 'Which size?', {
  type: 'object',
  properties: { size: { type: 'string' } },
  required: ['size'],
});
const colour = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };
const paint = asking('paint', 'painted', 'Which colour?', declinable(colour).schema);

/** Tokens: `ada:run,read,approve`. A proxy may have checked them. */
const access: Access = {
  reach: 'network',
  screen: () => undefined,
  authenticate: ({ headers }) => {
    const [, name, list] =
      /^Bearer (\w+):([\w,]*)$/.exec(headers.get('authorization') ?? headers.get('x-team') ?? '') ?? [];
    if (name === undefined) return 'unauthenticated';
    const permissions = list?.split(',') as Permission[];
    return {
      name,
      person: name,
      userId: name,
      may: ({ permission, app, userId }) => {
        if (app !== 'shop' || userId !== name) return 'hidden';
        return permissions.includes(permission) ? 'allowed' : 'forbidden';
      },
    };
  },
};

let environment: TurnEnvironment;
let served: ServedGateway;
let newGateway: () => Gateway;

beforeAll(async () => {
  const support = new LlmAgent({
    name: 'support',
    description: 'Answers questions.',
    model: 'gemini-2.5-flash',
    tools: [pay],
  });
  const desk = new ToolAgent({
    name: 'desk',
    tools: [add, fail, report, size, paint, pay, raise, held.tool()],
  });
  const counter = new ToolAgent({
    name: 'counter',
    tools: [tool({ name: 'serve', description: 'Serves.', execute: () => 'served' })],
    beforeAgentCallback: () => ({ role: 'model', parts: [{ text: 'Closed today.' }] }),
  });
  const credentialKeys = { k1: randomBytes(32).toString('base64') };
  environment = await openTurnEnvironment({
    workerOptions: { credentialKeys },
    apps: [new App({ name: 'shop', rootAgent: support })],
    agents: [support, desk, counter],
    script: stepCalls([], 'Hello.'),
  });
  const { client, store } = environment;
  newGateway = () =>
    createGateway({
      client,
      access,
      about: () => ({ ...ABOUT, apps: ['shop'] }),
      ready: async () => ({ temporal: true, store: true }),
      records: store,
      credentialKeys,
      settings: defineGateway({
        publicUrl: 'https://desk.example.com',
        mcp: { agents: [support, desk, counter] },
      }),
      logger: collecting(lines),
    });
  served = await serveGateway({ gateway: newGateway() });
});
beforeEach(() => {
  paid.length = 0;
  held.hold();
});
afterAll(async () => {
  held.release();
  await served?.close();
  await environment?.close();
});

const ALL = 'ada:run,read,approve,operate';
type Capabilities = NonNullable<ConstructorParameters<typeof Client>[1]>['capabilities'];

async function connected(
  token = ALL,
  mode: 'auto' | 'legacy' = 'auto',
  capabilities: Capabilities = {},
  url = served.url,
  autoFulfill = false,
) {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities, versionNegotiation: { mode }, inputRequired: { autoFulfill } },
  );
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

describe.each(['auto', 'legacy'] as const)('a client of MCP (%s)', (mode) => {
  test('calls agents and tools by name [mcp.serve]', async () => {
    await using connection = await connected(ALL, mode);
    const { client } = connection;
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...[
        'support',
        'add',
        'fail',
        'report',
        'order',
        'paint',
        'pay',
        'raise',
        'hold',
        'serve',
        'await_turn',
      ],
    ]);
    expect(tools[1]).toMatchObject({
      inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] },
      annotations: { readOnlyHint: true },
    });
    environment.gemini.reset(stepCalls([], 'Hello.'));
    const first = await client.callTool({ name: 'support', arguments: { message: 'Hi' } });
    expect(first.content).toMatchObject([
      { text: 'Hello.' },
      { text: expect.stringContaining('session: mcp-') },
    ]);
    const { session } = first.structuredContent as { session: string };
    await client.callTool({ name: 'support', arguments: { message: 'Still there?', session } });
    const contents = JSON.stringify(environment.gemini.requests.at(-1)?.body.contents);
    expect(contents).toMatch(/Hi.*Still there\?/s);
    expect(await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })).toMatchObject({
      structuredContent: { sum: 5 },
    });
    expect(await client.callTool({ name: 'fail', arguments: {} })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('the printer is on fire') }],
    });
    expect(await client.callTool({ name: 'serve', arguments: {} })).toMatchObject({
      structuredContent: { answer: 'Closed today.' },
    });
    for (const call of [
      { name: 'support', arguments: {} },
      { name: 'support', arguments: { message: 'Hi', session: 7 } },
      { name: 'support', arguments: { message: 'Hi', sessionId: 's' } },
      { name: 'add', arguments: { a: 'x' } },
      { name: 'nobody', arguments: {} },
      { name: 'await_turn', arguments: { turn: 'x/y' } },
    ]) {
      expect(await client.callTool(call)).toMatchObject({ isError: true });
    }
  });

  test('reads its sessions and their artifacts [mcp.resources]', async () => {
    await using connection = await connected(ALL, mode);
    const { client } = connection;
    const { content } = await client.callTool({ name: 'report', arguments: {} });
    const link = content.find(({ type }) => type === 'resource_link') as { uri: string };
    expect(await client.readResource({ uri: link.uri })).toMatchObject({
      contents: [{ text: 'All is well.' }],
    });
    const { resources } = await client.listResources();
    const uri = link.uri.slice(0, link.uri.indexOf('/artifacts/'));
    expect(resources.map((resource) => resource.uri)).toContain(uri);
    const read = await client.readResource({ uri });
    expect(JSON.stringify(read)).toContain('report.txt');
    await expect(client.listResources({ cursor: 'x' })).rejects.toThrow('cursor: expected');
    for (const none of [
      'holdfast://sessions/none',
      `${uri}/artifacts/none`,
      'file:///etc/passwd',
      'holdfast://sessions/%',
    ]) {
      await expect(client.readResource({ uri: none })).rejects.toThrow();
    }
  });
});

describe('a call by MCP', () => {
  test('that is sent again under its key is one turn [mcp.serve]', async () => {
    await using connection = await connected();
    const call = { name: 'add', arguments: { a: 1, b: 1 }, _meta: { 'holdfast/idempotency-key': 'k1' } };
    const [first, again] = [await connection.client.callTool(call), await connection.client.callTool(call)];
    expect(again.structuredContent).toEqual(first.structuredContent);
    const { sessions } = await environment.client.sessions.list({ app: 'shop', userId: 'ada', limit: 1 });
    const [{ sessionId = '' } = {}] = sessions;
    const session = await environment.client.sessions.get({ app: 'shop', userId: 'ada', sessionId });
    expect(
      session?.events.filter(({ event }) => event.author === 'user' && event.content?.parts?.[0]?.text),
    ).toHaveLength(1);
  });

  test('has a key of its own, whatever the key’s length [mcp.serve]', async () => {
    await using connection = await connected();
    const add = (a: unknown, key: unknown) =>
      connection.client.callTool({
        ...{ name: 'add', arguments: { a, b: 1 } },
        _meta: { 'holdfast/idempotency-key': key },
      });
    const long = 'k'.repeat(2_000);
    expect(await add(1, `${long}1`)).toMatchObject({ structuredContent: { sum: 2 } });
    expect(await add(2, `${long}2`)).toMatchObject({ structuredContent: { sum: 3 } });
    expect(await add(3, `${long}2`)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('another call had this key') }],
    });
    const other = { name: 'report', arguments: {}, _meta: { 'holdfast/idempotency-key': `${long}1` } };
    expect(await connection.client.callTool(other)).toMatchObject({ structuredContent: { saved: true } });
    for (const key of [7, '', {}, '\ud800']) {
      expect(await add(1, key)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('idempotency-key: expected text') }],
      });
    }
  });

  test('has a key for its session: another session is another key [mcp.serve]', async () => {
    await using connection = await connected();
    environment.gemini.reset([text('One.'), text('Two.')]);
    const ask = (args: object) =>
      connection.client.callTool({
        ...{ name: 'support', arguments: { message: 'Hi', ...args } },
        _meta: { 'holdfast/idempotency-key': 'of-a-session' },
      });
    expect(JSON.stringify(await ask({}))).toContain('One.');
    expect(JSON.stringify(await ask({ session: 'with-a-key' }))).toContain('Two.');
    expect(JSON.stringify(await ask({ session: 'with-a-key' }))).toContain('Two.');
    expect(await ask({ session: 'with-a-key', message: 'Hello' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('another call had this key') }],
    });
    expect(JSON.stringify(await ask({}))).toContain('One.');
  });

  test('asks the client’s person at a gate, who is attested, and goes on [mcp.people]', async () => {
    await using connection = await connected(ALL, 'auto', { elicitation: { form: {} } });
    const { client } = connection;
    const call = { name: 'pay', arguments: { amount: 7 } };
    const asked = await client.callTool(call, { allowInputRequired: true });
    expect(asked).toMatchObject({ resultType: 'input_required' });
    expect(paid).toEqual([]);
    const { inputRequests, requestState } = asked as unknown as {
      inputRequests: Record<string, { params: { message: string } }>;
      requestState: string;
    };
    const [[key = '', request] = []] = Object.entries(inputRequests);
    expect(request?.params.message).toMatch(/desk asks to run pay with \{\s*"amount": 7\s*\}/);
    const inputResponses = { [key]: { action: 'accept', content: { approve: true } } };
    const goOn = { ...call, inputResponses, requestState };
    expect(await client.callTool(goOn as never)).toMatchObject({ structuredContent: { paid: 7 } });
    expect(paid).toEqual([7]);
    const [row] = await environment.client.approvals.list({
      app: 'shop',
      userId: 'ada',
      status: ['approved'],
    });
    expect(row?.votes[0]?.by).toMatchObject({ principal: 'ada', verified: true });
  });

  test('asks for input by a form, and takes a refusal as one [mcp.people]', async () => {
    await using connection = await connected(ALL, 'auto', { elicitation: { form: {} } });
    const { client } = connection;
    const go = async (call: object, answer: object) => {
      const asked = (await client.callTool(call as never, { allowInputRequired: true })) as never as {
        inputRequests: Record<string, object>;
        requestState: string;
      };
      const [key = ''] = Object.keys(asked.inputRequests);
      const { requestState } = asked;
      return await client.callTool({ ...call, inputResponses: { [key]: answer }, requestState } as never);
    };
    const order = { name: 'order', arguments: {} };
    expect(await go(order, { action: 'accept', content: { size: 'L' } })).toMatchObject({
      structuredContent: { ordered: { size: 'L' } },
    });
    // A form of another server: that one hears of the refusal.
    const painting = { name: 'paint', arguments: {} };
    const offered = (await client.callTool(painting, { allowInputRequired: true })) as never as {
      inputRequests: Record<string, { params: object }>;
    };
    expect(Object.values(offered.inputRequests)[0]?.params).toMatchObject({ requestedSchema: colour });
    expect(await go(painting, { action: 'decline' })).toMatchObject({
      structuredContent: { painted: { decline: true } },
    });
    expect(await go(painting, { action: 'accept', content: { colour: 'red' } })).toMatchObject({
      structuredContent: { painted: { colour: 'red' } },
    });
    const refused = await go({ name: 'pay', arguments: { amount: 9 } }, { action: 'decline' });
    expect(JSON.stringify(refused)).toMatch(/reject/i);
    expect(paid).toEqual([]);
  });

  test.each([
    ['null', null],
    ['[1]', [1]],
    ['plain words', 'plain words'],
  ])(
    'takes %s of a person for what it is, where only JSON can be asked for [mcp.people]',
    async (answer, response) => {
      const row = {
        ...{ requestId: 'r', session: 's', argsDigest: 'd', kind: 'input', agent: 'a', tool: 't', args: {} },
        hint: 'which?',
        responseSchema: { type: ['array', 'string', 'null'] },
      } as unknown as ApprovalRow;
      const given: unknown[] = [];
      const approvals = {
        provideInput: async (_: unknown, input: { response: unknown }) => void given.push(input.response),
      } as unknown as HoldfastApi['approvals'];
      const asked = questionsOf([row], { elicitation: {} }, () => undefined);
      const [key = ''] = Object.keys(asked ?? {});
      await answerRequests({ approvals }, [row], { [key]: { action: 'accept', content: { answer } } });
      expect(given).toEqual([response]);
    },
  );

  test('asks nobody again who has cancelled, and nobody who may not decide [mcp.people]', async () => {
    await using connection = await connected(ALL, 'auto', { elicitation: { form: {} } }, served.url, true);
    const { client } = connection;
    let asked = 0;
    client.setRequestHandler('elicitation/create', () => {
      asked += 1;
      return { action: 'cancel' };
    });
    const waiting = { structuredContent: { status: 'waiting', waits: [{ request: expect.any(String) }] } };
    for (const [name, times] of [
      ['pay', 1],
      ['order', 1],
      ['raise', 0],
    ] as const) {
      asked = 0;
      expect(await client.callTool({ name, arguments: { amount: 8 } })).toMatchObject(waiting);
      expect(asked).toBe(times);
    }
    expect(paid).toEqual([]);
  });

  test('tells where a person decides, to those who can’t ask one or may not decide [mcp.people]', async () => {
    await using plain = await connected();
    await using weak = await connected('ada:run,read', 'auto', { elicitation: { form: {} } });
    // It has forms, but no request of it says so.
    await using old = await connected(ALL, 'legacy', { elicitation: { form: {} } });
    for (const { client } of [plain, weak, old]) {
      const waiting = await client.callTool({ name: 'pay', arguments: { amount: 3 } });
      const { turn, status, waits } = waiting.structuredContent as {
        turn: string;
        status: string;
        waits: { request: string; page: string }[];
      };
      expect(status).toBe('waiting');
      const [wait] = waits;
      expect(wait?.page).toBe(
        `https://desk.example.com/inbox/requests/${encodeURIComponent(wait?.request ?? '')}`,
      );
      const asks = '- desk asks to run pay with {\n    "amount": 3\n  }.\n';
      expect(waiting.content).toMatchObject([
        { text: expect.stringContaining(`${asks}  It is answered at ${wait?.page}\n`) },
      ]);
      const forged = {
        name: 'pay',
        arguments: {},
        requestState: turn,
        inputResponses: { [wait?.request ?? '']: { action: 'accept', content: { approve: true } } },
      };
      if (client === weak.client)
        expect(await client.callTool(forged as never)).toMatchObject({
          structuredContent: { status: 'waiting' },
        });
      expect(paid).toEqual([]);
      await environment.client.approvals.confirm({ requestId: wait?.request ?? '' }, { confirmed: true });
      expect(await client.callTool({ name: 'await_turn', arguments: { turn } })).toMatchObject({
        structuredContent: { paid: 3 },
      });
      paid.length = 0;
    }
  });

  test('names the commands that decide, where no page is known [mcp.people]', () => {
    const names = { app: 'shop', userId: 'ada', agent: 'desk', tool: 'pay', terms: {}, hint: 'Pay?\nSure?' };
    const row = { ...names, requestId: 'rq-1', kind: 'confirmation', args: { note: 'a\nb' } };
    const { content } = openResult({ sessionId: 's', messageId: 'm' }, [row as unknown as ApprovalRow], {
      pageOf: () => undefined,
      folder: 'my folder',
    });
    expect((content[0] as { text: string }).text.split('\n')).toEqual([
      'The turn waits for a person:',
      '- desk asks to run pay with {',
      '    "note": "a\\nb"',
      '  }. Pay?\\u000aSure?',
      '  Request rq-1 is answered by',
      "    npx holdfast approvals approve rq-1 --folder 'my folder'",
      "    npx holdfast approvals reject rq-1 --reason TEXT --folder 'my folder'",
      'Call await_turn with turn: s/m for its answer.',
    ]);
  });

  test('that takes long is a task, which is asked for, and cancelled [mcp.task]', async () => {
    const first = await rpc('tools/call', { name: 'hold', arguments: {} });
    expect(first).toMatchObject({ resultType: 'task', status: 'working' });
    const { taskId } = first as { taskId: string };
    await held.begun();
    expect(await rpc('tasks/get', { taskId })).toMatchObject({
      status: 'working',
      createdAt: first.createdAt,
    });
    held.release();
    await expect
      .poll(async () => await rpc('tasks/get', { taskId }))
      .toMatchObject({
        status: 'completed',
        result: { structuredContent: { held: true } },
      });
    held.hold();
    const { taskId: second } = (await rpc('tools/call', { name: 'hold', arguments: {} })) as {
      taskId: string;
    };
    await rpc('tasks/cancel', { taskId: second });
    await expect
      .poll(async () => await rpc('tasks/get', { taskId: second }))
      .toMatchObject({
        status: 'cancelled',
      });
    expect(await rpc('tasks/get', { taskId: 'mcp-x/mcp-x' })).toMatchObject({ code: -32_602 });
  });

  test('is answered by a gateway that closes, and goes on [mcp.serve]', async () => {
    const gateway = newGateway();
    const other = await serveGateway({ gateway });
    await using connection = await connected(ALL, 'auto', {}, other.url);
    const called = connection.client.callTool({ name: 'hold', arguments: {} });
    await held.begun();
    gateway.endStreams();
    const { structuredContent } = await called;
    expect(structuredContent).toMatchObject({ status: 'working' });
    // It closes what is open a second later, and still answers what comes until it is gone.
    const later = Date.now() + 1_200;
    const answersLater = async () =>
      (await connection.client.listTools()).tools.length > 0 && Date.now() > later;
    await expect.poll(answersLater, { interval: 100 }).toBe(true);
    await other.close();
    held.release();
    await using next = await connected();
    const { turn } = structuredContent as { turn: string };
    expect(await next.client.callTool({ name: 'await_turn', arguments: { turn } })).toMatchObject({
      structuredContent: { held: true },
    });
  });

  test('whose client goes away is no failure of the gateway [mcp.serve]', async () => {
    const gateway = newGateway();
    const other = await serveGateway({ gateway });
    await using connection = await connected(ALL, 'auto', {}, other.url);
    const leaving = new AbortController();
    const called = connection.client.callTool({ name: 'hold', arguments: {} }, { signal: leaving.signal });
    await held.begun();
    await expect.poll(() => gateway.openStreams).toBe(1);
    leaving.abort();
    await expect(called).rejects.toThrow();
    await expect.poll(() => gateway.openStreams).toBe(0);
    await other.close();
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  if (isDeep) {
    test('has a session whose latest events can be read, however long the others are [mcp.resources]', async () => {
      await using connection = await connected();
      const { client } = connection;
      environment.gemini.reset(stepCalls([], 'Hello.'));
      const session = 'long';
      const say = (message: string) => client.callTool({ name: 'support', arguments: { message, session } });
      for (const letter of ['a', 'b', 'c']) await say(letter.repeat(3_500_000));
      const { contents } = await client.readResource({ uri: 'holdfast://sessions/long' });
      const [{ text = '' } = {}] = contents as { text?: string }[];
      const { earlierEvents, events } = JSON.parse(text) as {
        earlierEvents: boolean;
        events: { text: string }[];
      };
      expect(earlierEvents).toBe(true);
      expect(events.map((event) => event.text[0])).toEqual(['H', 'b', 'H', 'c', 'H']);
    });
  }

  test('has a turn whose name finds it, however long the session’s is [mcp.serve]', () => {
    const turn = { sessionId: '日'.repeat(1_000), messageId: '日'.repeat(1_000) };
    expect(turnOfId(turnIdOf(turn))).toEqual(turn);
  });

  test('begins nothing and shows nothing for others [mcp.access]', async () => {
    await using connection = await connected();
    const { content } = await connection.client.callTool({ name: 'report', arguments: {} });
    const { uri } = content.find(({ type }) => type === 'resource_link') as { uri: string };
    await using other = await connected('bob:run,read');
    await expect(other.client.readResource({ uri })).rejects.toThrow();
    expect((await other.client.listResources()).resources).toEqual([]);
    const post = async (token: string, query = '') =>
      (
        await fetch(`${served.url}/mcp${query}`, {
          method: 'POST',
          headers: { authorization: token, 'content-type': 'application/json' },
          body: '{}',
        })
      ).status;
    expect(await post('')).toBe(401);
    expect(await post('Bearer ada:read')).toBe(403);
    const known = await fetch(`${served.url}/mcp`, {
      method: 'POST',
      headers: {
        ...{ 'x-team': `Bearer ${ALL}`, 'content-type': 'application/json' },
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: { name: 'add', arguments: { a: 1, b: 1 } },
      }),
    });
    expect(await known.text()).toContain('"sum":2');
    await using blind = await connected('ada:run');
    expect(await blind.client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/has begun.*forbidden.*not add again/s) }],
    });
    expect(await post(`Bearer ${ALL}`, '?user=bob')).toBe(404);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

/** A request as a client with forms and tasks sends it. */
async function rpc(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
  const prefix = 'io.modelcontextprotocol';
  const name = params.name ?? params.taskId;
  const answer = await fetch(`${served.url}/mcp`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${ALL}`, 'content-type': 'application/json' },
      ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' },
      ...{ 'mcp-method': method, 'mcp-name': String(name) },
    },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method },
      params: {
        ...params,
        _meta: {
          [`${prefix}/protocolVersion`]: '2026-07-28',
          [`${prefix}/clientInfo`]: { name: 'test', version: '1' },
          [`${prefix}/clientCapabilities`]: { extensions: { [`${prefix}/tasks`]: {} } },
        },
      },
    }),
  });
  const { result, error } = (await answer.json()) as Record<string, Record<string, unknown>>;
  return result ?? error ?? {};
}

describe('an agent without a model', () => {
  test('runs the call that its message names, with its gates [toolagent.calls]', async () => {
    const said = async (message: string) =>
      (await environment.run({ app: 'shop', rootAgent: 'desk', message })).result;
    const { text } = await said('{"tool":"add","args":{"a":2,"b":2}}');
    expect(text).toBe('{"sum":4}');
    expect((await said('{"tool":"nothing"}')).text).toContain('nothing');
    for (const message of ['add 2 and 2', '{"tool":7}', '{"tool":"add","args":[]}', 'null']) {
      expect(await said(message)).toMatchObject({
        status: 'failed',
        error: { message: expect.stringContaining('expected a call as the message') },
      });
    }
  });

  test('has no field of a model [toolagent.calls]', () => {
    for (const field of ['model', 'instruction', 'subAgents', 'outputSchema']) {
      expect(() => new ToolAgent({ name: 'desk', [field]: 'x' } as never)).toThrow(
        `ToolAgent "desk": ${field}`,
      );
    }
    expect(() => new ToolAgent(undefined as never)).toThrow(DefinitionError);
  });
});

describe('defineGateway({ mcp })', () => {
  test('names what is wrong [mcp.serve]', () => {
    const agent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash' });
    const twice = new ToolAgent({
      name: 'b',
      tools: [tool({ name: 'a', description: 'x', execute: () => 1 })],
    });
    for (const [mcp, text] of [
      [{}, 'mcp.agents: expected a list of agents'],
      [{ agents: [1] }, 'mcp.agents[0]'],
      [{ agents: [agent, twice] }, 'two tools would be named "a"'],
      [{ agents: [agent], paths: '/x' }, 'paths'],
      [null, 'expected an object'],
    ] as const) {
      expect(() => defineGateway({ mcp: mcp as never })).toThrow(DefinitionError);
      expect(() => defineGateway({ mcp: mcp as never })).toThrow(text);
    }
  });
});
