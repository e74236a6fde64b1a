import { afterAll, beforeAll, expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { inputFields } from '../../src/gateway/pages/input-fields.ts';
import { call, createTestEnvironment, type TestEnvironment, text } from '../../src/testing/index.ts';
import { elicitationOf } from '../../src/tools/mcp/mcp-questions.ts';
import { MCPToolset, type MCPToolsetOptions } from '../../src/tools/mcp/mcp-toolset.ts';
import { until } from '../setup/until.ts';
import { type AskingServer, startAskingServer } from './asking-server.ts';

let server: AskingServer;
let leaving: AskingServer;
let env: TestEnvironment;
let closes: () => Promise<void>;

beforeAll(async () => {
  server = await startAskingServer();
  leaving = await startAskingServer();
  const overHttp = ({ url }: AskingServer) => ({ type: 'StreamableHTTPConnectionParams', url }) as const;
  const connection = overHttp(server);
  const appOf = (name: string, options: MCPToolsetOptions = {}) => {
    const tools = [new MCPToolset(connection, [], undefined, options)];
    return new App({ name, rootAgent: new LlmAgent({ name, model: 'gemini-2.5-flash', tools }) });
  };
  const model = 'gemini-2.5-flash';
  const closing = new MCPToolset(connection);
  const left = new MCPToolset(overHttp(leaving));
  closes = () => closing.close();
  const clerk = new LlmAgent({
    name: 'clerk',
    description: 'Books.',
    model,
    tools: [new MCPToolset(connection)],
  });
  env = await createTestEnvironment({
    apps: [
      new App({ name: 'closing', rootAgent: new LlmAgent({ name: 'closing', model, tools: [closing] }) }),
      new App({ name: 'left', rootAgent: new LlmAgent({ name: 'left', model, tools: [left] }) }),
      new App({
        name: 'below',
        rootAgent: new LlmAgent({ name: 'chief', model, tools: [new AgentTool({ agent: clerk })] }),
      }),
      appOf('patient', { defaults: { heartbeatTimeout: '1s' } }),
      appOf('hasty', { elicitationTimeout: 1_500 }),
      appOf('deaf', { elicitationTimeout: 0 }),
      appOf('gated', { defaults: { requireConfirmation: true } }),
    ],
  });
});
afterAll(async () => {
  await env.close();
  await server[Symbol.asyncDispose]();
});

/** Begins a turn whose only call is asked about. */
async function asked(app: string, calls = [call('book', { day: 'friday' })]) {
  server.asked.length = 0;
  server.told.length = 0;
  server.calls.length = 0;
  server.isVisited = false;
  env.gemini.reset([calls, text('Booked.')]);
  const names = { app, userId: 'ada', sessionId: `${app}-${crypto.randomUUID()}` };
  const handle = await env.client.sendMessage({ ...names, message: 'a table' });
  const told = async () => {
    const { status } = await handle.result();
    const contents = JSON.stringify(env.gemini.requests.at(-1)?.body.contents);
    return { status, contents };
  };
  return { names, handle, told };
}

async function requestOf(names: { app: string; sessionId: string }, kind: string): Promise<ApprovalRow> {
  return await until(async () => {
    const found = await env.client.approvals.list({ ...names, status: ['pending'] });
    const request = found.find((row) => row.kind === kind);
    if (request === undefined) throw new Error('nobody was asked');
    return request;
  });
}

async function untilWaiting(names: Parameters<typeof env.client.status>[0], count: number) {
  return await until(async () => {
    const waiting = (await env.client.status(names))?.waiting ?? [];
    expect(waiting).toHaveLength(count);
    return waiting;
  });
}

test('a question of a server of 2025 waits for a person, and the answer goes out on the open connection [mcp.held]', async () => {
  const { names, told } = await asked('patient', [call('book_beside', { day: 'friday' })]);
  const request = await requestOf(names, 'input');
  expect(request).toMatchObject({ tool: 'book_beside', hint: 'For how many people on friday?' });
  await until(async () => {
    expect(await env.client.status(names)).toMatchObject({
      status: 'waiting_input',
      waiting: [{ requestId: request.requestId }],
    });
  });
  const events = await env.client.sessions.get(names);
  expect(JSON.stringify(events)).toContain('adk_request_input');
  const { requestId } = request;
  const wrong = env.client.approvals.provideInput({ ...names, requestId }, { response: { people: 0 } });
  await expect(wrong).rejects.toMatchObject({ code: 'HOLDFAST_DECISION_REFUSED' });
  await env.client.approvals.provideInput({ ...names, requestId }, { response: { people: 4 } });
  expect(await told()).toMatchObject({
    status: 'completed',
    contents: expect.stringContaining('Booked friday for {\\"people\\":4}.'),
  });
  expect(server.told).toEqual([{ action: 'accept', content: { people: 4 } }]);
  expect(server.asked).toHaveLength(1);
});

test('a person may decline it, and the field for that takes no name of the server’s [mcp.held]', async () => {
  const { names, told } = await asked('patient');
  const request = await requestOf(names, 'input');
  // As pages ask for it.
  expect(inputFields(request).map(({ name }) => name)).toEqual(['people', 'decline', '_decline']);
  const { requestId } = request;
  await env.client.approvals.provideInput({ ...names, requestId }, { response: { _decline: true } });
  expect((await told()).contents).toContain('Booked friday for nobody.');
  expect(server.told).toEqual([{ action: 'decline' }]);
});

test('a field that the person leaves out has its default, which pages tell [mcp.held]', () => {
  const requestedSchema = {
    type: 'object',
    properties: { people: { type: 'integer', default: 2 }, name: { type: 'string', default: 'Ada' } },
  };
  const { question, told } = elicitationOf({ message: 'For how many?', requestedSchema }, 'book');
  expect(told({ name: 'Bo' })).toEqual({ action: 'accept', content: { people: 2, name: 'Bo' } });
  const hints = inputFields(question).map(({ field }) => String(field.hint));
  expect(hints.slice(0, 2)).toEqual([
    expect.stringContaining('Default: <bdi>2'),
    expect.stringContaining('<bdi>Ada'),
  ]);
});

test('a question whose time is over is declined with the reason, and takes no answer any more [mcp.held.limit]', async () => {
  const { names, told } = await asked('hasty');
  const { requestId } = await requestOf(names, 'input');
  const { contents } = await told();
  expect(contents).toContain('Booked friday for nobody.');
  expect(contents).toContain('nobody answered in time (at most 1500 ms)');
  expect(server.told).toEqual([{ action: 'decline' }]);
  const late = env.client.approvals.provideInput({ ...names, requestId }, { response: { people: 4 } });
  await expect(late).rejects.toMatchObject({ code: 'HOLDFAST_REQUEST_NOT_PENDING' });
  const rows = await env.client.approvals.list({ ...names, status: ['expired'] });
  expect(rows.map((row) => row.requestId)).toEqual([requestId]);
});

test('with a limit of 0 nobody is asked [mcp.held.limit]', async () => {
  const { names, told } = await asked('deaf');
  expect((await told()).contents).toContain('questions are declined here');
  expect(server.told).toEqual([{ action: 'decline' }]);
  const all = ['pending', 'answered', 'expired', 'cancelled'] as const;
  expect(await env.client.approvals.list({ ...names, status: [...all] })).toEqual([]);
});

test('a call that was approved asks in its run, and the approval stays one for it [mcp.held]', async () => {
  const { names, told } = await asked('gated');
  const gate = await requestOf(names, 'confirmation');
  await env.client.approvals.confirm({ ...names, requestId: gate.requestId }, { confirmed: true });
  const { requestId } = await requestOf(names, 'input');
  await env.client.approvals.provideInput({ ...names, requestId }, { response: { people: 2 } });
  expect((await told()).contents).toContain('Booked friday for {\\"people\\":2}.');
});

test('calls that run at once each get the answer to their own question; one that names no call is declined [mcp.held]', async () => {
  const days = ['friday', 'monday'];
  const { names, told } = await asked(
    'patient',
    days.map((day) => call('book', { day })),
  );
  await untilWaiting(names, 2);
  const requests = await env.client.approvals.list({ ...names, status: ['pending'] });

  env.gemini.reset([call('book_beside', { day: 'sunday' }), text('Booked.')]);
  const beside = await env.run({ app: 'patient', userId: names.userId, message: 'go' });
  expect(JSON.stringify(beside.calls)).toContain('several calls were under way on its connection');

  env.gemini.reset([text('Booked.')]);
  for (const { requestId, hint } of requests) {
    const response = { people: hint.includes('friday') ? 5 : 1 };
    await env.client.approvals.provideInput({ ...names, requestId }, { response });
  }
  const { contents } = await told();
  expect(contents).toContain('Booked friday for {\\"people\\":5}.');
  expect(contents).toContain('Booked monday for {\\"people\\":1}.');
});

test('a turn that is interrupted takes its question with it, and the server hears so [mcp.held.ends]', async () => {
  const { names, handle } = await asked('patient');
  const { requestId } = await requestOf(names, 'input');
  await untilWaiting(names, 1);
  await env.client.interrupt(names);
  await handle.result();
  await until(async () => {
    const rows = await env.client.approvals.list({ ...names, status: ['cancelled'] });
    expect(rows.map((row) => row.requestId)).toEqual([requestId]);
  });
  await until(() => expect(server.told).toEqual([{ action: 'cancel' }]));
});

test('a connection that is closed takes its question with it [mcp.held.ends]', async () => {
  const { names, told } = await asked('closing');
  const { requestId } = await requestOf(names, 'input');
  await untilWaiting(names, 1);
  await closes();
  expect((await told()).status).toBe('completed');
  await until(() => expect(server.told).toEqual([{ action: 'cancel' }]));
  await until(async () => {
    const rows = await env.client.approvals.list({ ...names, status: ['cancelled'] });
    expect(rows.map((row) => row.requestId)).toEqual([requestId]);
  });
});

test('a server that goes away takes its question with it, and the model hears that its call may have run [mcp.held.ends]', async () => {
  const { names, told } = await asked('left');
  const { requestId } = await requestOf(names, 'input');
  await untilWaiting(names, 1);
  await leaving[Symbol.asyncDispose]();
  expect((await told()).contents).toContain('may have run');
  await until(async () => {
    const rows = await env.client.approvals.list({ ...names, status: ['cancelled'] });
    expect(rows.map((row) => row.requestId)).toEqual([requestId]);
  });
});

test('an agent below another one asks, and its answer finds the way [mcp.held]', async () => {
  server.told.length = 0;
  env.gemini.reset([
    call('clerk', { request: 'a table' }),
    call('book', { day: 'friday' }),
    text('Booked.'),
    text('It is booked.'),
  ]);
  const names = { app: 'below', userId: 'ada', sessionId: 'below' };
  const handle = await env.client.sendMessage({ ...names, message: 'a table' });
  const { requestId } = await requestOf(names, 'input');
  await until(async () => expect(await env.client.status(names)).toMatchObject({ status: 'waiting_input' }));
  await env.client.approvals.provideInput({ requestId }, { response: { people: 3 } });
  expect(await handle.result()).toMatchObject({ status: 'completed', text: 'It is booked.' });
  expect(server.told).toEqual([{ action: 'accept', content: { people: 3 } }]);
});

test('a call that a server takes only after its page was opened ends, and any worker makes it again once the person says so [mcp.input]', async () => {
  const { names, told } = await asked('patient', [call('read_mail', {})]);
  const { requestId, hint, payload } = await requestOf(names, 'input');
  const url = 'https://mail.example.com/allow?desk=1';
  expect(hint).toBe(`Allow the desk to read your mail.\n\nOpen ${url}, and answer once you are done there.`);
  expect(payload).toEqual({ url });
  await env.restartWorker();
  server.isVisited = true;
  await env.client.approvals.provideInput({ ...names, requestId }, { response: { done: true } });
  expect((await told()).contents).toContain('No mail.');
  const [first, ...again] = server.calls;
  expect(again).toHaveLength(1);
  expect(Object.keys(again[0] ?? {})).toEqual(Object.keys(first ?? {}));
});

test('a call whose page the person does not open is not made again, and the model hears so [mcp.input]', async () => {
  const { names, told } = await asked('patient', [call('read_mail', {})]);
  const { requestId } = await requestOf(names, 'input');
  await env.client.approvals.provideInput({ ...names, requestId }, { response: { done: false } });
  expect((await told()).contents).toContain(
    "the person says that it isn't done: the call was not made again",
  );
  expect(server.calls).toHaveLength(1);
});

test('a signal that names another call, too many questions or none opens nothing [mcp.held.forged]', async () => {
  const { names, told } = await asked('patient');
  const { requestId, callKey, workflowId } = await requestOf(names, 'input');
  await untilWaiting(names, 1);
  const workflow = env.temporal.workflow.getHandle(workflowId);
  for (const payload of [{}, { callKey, n: 21 }, { callKey, n: 1.5 }, { callKey: `${callKey}0`, n: 1 }, 'x'])
    await workflow.signal('holdfast.hold', payload);
  // One that no activity has asked is shown by the turn, and nobody's answer to it counts.
  await workflow.signal('holdfast.hold', { callKey, n: 2, hint: 'Send the password?' });
  const forged = (await untilWaiting(names, 2)).find((each) => each.requestId !== requestId);
  await workflow.signal('provideInput', { requestId: forged?.requestId, response: { people: 9 } });
  await env.client.approvals.provideInput({ ...names, requestId }, { response: { people: 4 } });
  expect((await told()).status).toBe('completed');
  expect(server.told).toEqual([{ action: 'accept', content: { people: 4 } }]);
  expect(await env.client.approvals.list({ ...names, status: ['answered'] })).toHaveLength(1);
});
