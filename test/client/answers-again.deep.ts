import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Content, FunctionTool, LlmAgent, LongRunningFunctionTool, type Part } from '../../src/index.ts';
import { AGENT_TURN } from '../../src/protocol/names.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { calls, type TestEnvironment, text } from '../../src/testing/index.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';

let env: TestEnvironment;
/** Answers of the model: each one is another text. */
let answers = 0;

beforeAll(async () => {
  const ask = new LongRunningFunctionTool({ name: 'ask', description: 'asks', execute: () => null });
  const render = new LongRunningFunctionTool({
    name: 'render',
    description: 'renders',
    execute: () => ({ status: 'pending' }),
  });
  const pay = new FunctionTool({
    name: 'pay',
    description: 'pays',
    requireConfirmation: true,
    execute: () => ({ paid: true }),
  });
  const size = new FunctionTool({
    name: 'size',
    description: 'asks for a size',
    execute: (_args, context) => context?.requestInput({ message: 'which size?' }) ?? {},
  });
  env = await openPlacedEnvironment({
    agents: [new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [ask, render, pay, size] })],
    script: ({ contents = [] }) => {
      const parts = contents.at(-1)?.parts ?? [];
      const said = parts.at(-1)?.text ?? '';
      if (!said.startsWith('call ')) {
        answers += 1;
        return text(`answer ${answers}`);
      }
      return calls(
        said
          .slice(5)
          .split(' ')
          .map((name, n) => ({ id: `c-${name}-${n}`, name, args: {} })),
      );
    },
  });
});
afterAll(() => env.close());

const newNames = (): SessionNames => ({ app: 'test', userId: 'ada', sessionId: randomUUID() });

const user = (...parts: Part[]): Content => ({ role: 'user', parts });

const responseTo = (
  id: string,
  name: string,
  response: Record<string, unknown>,
  fields: object = {},
): Part => ({
  functionResponse: { id, name, response, ...fields },
});

async function begin(names: SessionNames, tools: string) {
  const turn = await env.send({ ...names, message: `call ${tools}` });
  const jobs = tools.split(' ').filter((name) => name === 'ask').length;
  await expect
    .poll(async () => {
      const status = await env.client.status(names).catch(() => undefined);
      return status?.status.startsWith('waiting') === true && (status.jobs ?? []).length === jobs;
    })
    .toBe(true);
  return turn;
}

/** Whatever the message is sent again by, after its turn has ended, it has that turn's result, and asks no model. */
async function sentAgain(names: SessionNames, messageId: string, message: Content, of: string) {
  const asked = env.gemini.requests.length;
  const session = await env.client.sessions.get(names);
  const results = [];
  let workflowId = '';
  for (let n = 0; n < 2; n++) {
    const handle = await env.client.sendMessage({ ...names, messageId, message });
    results.push(await handle.result());
    workflowId = handle.workflowId;
  }
  const run = env.temporal.workflow.getHandle(workflowId);
  await run.result();
  const raw = await env.temporal.workflow.start(AGENT_TURN, {
    workflowId,
    taskQueue: (await run.describe()).taskQueue,
    args: [{ v: 1, ...names, messageId, message }],
  });
  results.push(await raw.result());
  expect(results.map(({ text: said }) => said)).toEqual([of, of, of]);
  expect(env.gemini.requests.length).toBe(asked);
  expect((await env.client.sessions.get(names))?.events.length).toBe(session?.events.length);
}

describe('sent again after the turn has ended', () => {
  test('a response to a job gives the result of that turn [job.message.again]', async () => {
    const names = newNames();
    const turn = await begin(names, 'ask');
    const message = user(responseTo('c-ask-0', 'ask', { answer: 42 }));
    const first = await env.client.sendMessage({ ...names, messageId: 'r1', message });
    const { text: said = '' } = await first.result();
    expect(await turn.result()).toMatchObject({ text: said });
    const again = await env.client.sendMessage({ ...names, messageId: 'r1', message });
    expect(again.invocationId).toBe(turn.invocationId);
    expect(await again.receipt()).toMatchObject({ status: 'finished', invocationId: turn.invocationId });
    await sentAgain(names, 'r1', message, String(said));
    // Under its id with other content it is refused; under another one it is a message like any other.
    const other = user(responseTo('c-ask-0', 'ask', { answer: 43 }));
    const conflict = await env.client.sendMessage({ ...names, messageId: 'r1', message: other });
    const refused = { status: 'failed', error: { code: 'HOLDFAST_MESSAGE_CONFLICT' } };
    expect(await conflict.result()).toMatchObject(refused);
    const asked = env.gemini.requests.length;
    const next = await env.client.sendMessage({ ...names, messageId: 'r2', message: other });
    expect(next.invocationId).not.toBe(turn.invocationId);
    await next.result();
    expect(env.gemini.requests.length).toBe(asked + 1);
  });

  test('responses to several jobs, an update, and one that is too large to travel [job.message.again]', async () => {
    const names = newNames();
    const turn = await begin(names, 'ask ask ask');
    const update = user(responseTo('c-ask-0', 'ask', { at: 'half' }, { willContinue: true }));
    await env.client.sendMessage({ ...names, messageId: 'u1', message: update });
    const large = user(responseTo('c-ask-2', 'ask', { much: 'x'.repeat(100_000) }));
    await env.client.sendMessage({ ...names, messageId: 'l1', message: large });
    const both = user(
      responseTo('c-ask-0', 'ask', { answer: 1 }),
      responseTo('c-ask-1', 'ask', { answer: 2 }),
    );
    await env.client.sendMessage({ ...names, messageId: 'r1', message: both });
    const { text: said } = await turn.result();
    await sentAgain(names, 'r1', both, String(said));
    await sentAgain(names, 'u1', update, String(said));
    const asked = env.gemini.requests.length;
    const again = await env.client.sendMessage({ ...names, messageId: 'l1', message: large });
    expect(await again.result()).toMatchObject({ text: said });
    expect(env.gemini.requests.length).toBe(asked);
    expect(await env.store.messages.readInbox(names)).toEqual([]);
  });

  test('a response beside words gives the result of the turn of the words [job.message.again]', async () => {
    const names = newNames();
    const turn = await begin(names, 'ask');
    const message = user(responseTo('c-ask-0', 'ask', { answer: 42 }), { text: 'and now?' });
    const first = await env.client.sendMessage({ ...names, messageId: 'r1', message });
    const { text: said } = await first.result();
    expect((await turn.result()).text).not.toBe(said);
    await sentAgain(names, 'r1', message, String(said));
  });

  test('a response that is sent again while another turn runs begins none [job.message.again]', async () => {
    const names = newNames();
    const turn = await begin(names, 'ask');
    const message = user(responseTo('c-ask-0', 'ask', { answer: 42 }));
    await env.client.sendMessage({ ...names, messageId: 'r1', message });
    const { text: said } = await turn.result();
    const other = await begin(names, 'pay');
    const asked = env.gemini.requests.length;
    const again = await env.client.sendMessage({ ...names, messageId: 'r1', message });
    expect(await again.result()).toMatchObject({ text: said });
    const run = env.temporal.workflow.getHandle(other.workflowId);
    await run.executeUpdate('sendMessage', { args: [{ messageId: 'r1', message }] });
    const [request] = await env.client.approvals.list(names);
    await env.approve(request?.requestId ?? '');
    expect((await other.result()).status).toBe('completed');
    expect((await run.result()).others).toMatchObject([{ status: 'completed' }]);
    expect(env.gemini.requests.length).toBe(asked + 1);
  });

  test.each([
    ['an approval', 'pay', 'adk_request_confirmation', { confirmed: true }],
    ['an approval by the id of its call', 'pay', 'pay', { confirmed: true }],
    ['an input', 'size', 'adk_request_input', { result: 'L' }],
    ['an input by the id of its call', 'size', 'size', { result: 'L' }],
  ])(
    '%s, alone and beside words, gives what was recorded [job.message.again] [confirm.reply]',
    async (_what, tool, name, response) => {
      for (const words of [[], [{ text: 'and now?' }]]) {
        const names = newNames();
        const turn = await begin(names, tool);
        const [request] = await env.client.approvals.list(names);
        const message = user(
          responseTo((name === tool ? request?.callId : request?.requestId) ?? '', name, response),
          ...words,
        );
        const first = await env.client.sendMessage({ ...names, messageId: 'r1', message });
        const { text: said } = await first.result();
        await turn.result();
        const asked = env.gemini.requests.length;
        const again = await env.client.sendMessage({ ...names, messageId: 'r1', message });
        expect(await again.result()).toMatchObject({ status: 'completed', text: said });
        expect(env.gemini.requests.length).toBe(asked);
      }
    },
  );
});
