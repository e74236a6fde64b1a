import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { BaseCodeExecutor, type ExecuteCodeParams } from '../../src/code-executors/base-code-executor.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { jobIdOf, jobWorkflowIdOf, workflowIdOf } from '../../src/protocol/identity.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { LOAD_MEMORY } from '../../src/tools/built-in/memory-tools.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { withConfirmation } from '../../src/tools/with-confirmation.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const CARD = 'CARD-4111';
const PIN = 'PIN-4242';
const LONG = 'x'.repeat(20_000);
class Memories extends BaseToolset {
  override getTools = async () => [LOAD_MEMORY];
  override close = async () => undefined;
}
/** Code that was run. */
const executed: string[] = [];
class Codes extends BaseCodeExecutor {
  override async executeCode({ codeExecutionInput: { code } }: ExecuteCodeParams) {
    executed.push(code);
    return { stdout: PIN, stderr: '', outputFiles: [] };
  }
}

let environment: TurnEnvironment;
let foreigner: ForeignWorker;

beforeAll(async () => {
  const pays = tool({
    name: 'pays',
    description: 'd',
    parameters: z.object({ amount: z.number(), card: z.string() }),
    sensitive: ['card'],
    requireConfirmation: true,
    execute: () => ({ ok: true }),
  });
  const hushes = tool({ name: 'hushes', description: 'd', sensitive: true, execute: () => ({ pin: PIN }) });
  const tells = tool({
    name: 'tells',
    description: 'd',
    execute: (_args, { actions }) => {
      actions.skipSummarization = true;
      return { text: 'plain' };
    },
  });
  const keeps = tool({
    name: 'keeps',
    description: 'd',
    sensitive: ['result'],
    execute: (_args, { actions }) => {
      actions.skipSummarization = true;
      return { pin: PIN };
    },
  });
  const agent = new LlmAgent({
    name: 'clerk',
    model: 'gemini-2.5-flash',
    tools: [pays, hushes, tells, keeps],
  });
  const search = tool({
    name: 'search',
    description: 'd',
    spool: true,
    execute: () => `${PIN}\n`.repeat(40_000),
  });
  const orders = new LongRunningFunctionTool({
    ...{ name: 'orders', description: 'd', parameters: z.object({}) },
    execute: () => ({ status: 'ordered' }),
  });
  const librarian = new LlmAgent({
    ...{ name: 'librarian', model: 'gemini-2.5-flash', codeExecutor: new Codes() },
    tools: [search, orders, withConfirmation(new Memories(), false, () => false)],
  });
  environment = await openTurnEnvironment({
    agents: [agent],
    apps: [new App({ name: 'library', rootAgent: librarian, durable: { memory: true } })],
  });
  foreigner = await ForeignWorker.start(environment.temporal);
});
afterAll(async () => {
  await foreigner.close();
  await environment.close();
});

async function asked(name: string, args: object = {}): Promise<AskingTurn> {
  environment.gemini.reset(stepCalls([[{ name, args: { ...args } }]], name === 'hushes' ? LONG : 'done'));
  return await AskingTurn.start(environment);
}

const readAnswer = ({ names }: AskingTurn, { invocationId, events }: TurnResult, more: object) =>
  foreigner.schedule('holdfast.readAnswer', { v: 1, ...names, invocationId, events, ...more });

describe('what workflows may ask for tells nobody else’s secrets [tool.sensitive]', () => {
  test('a decision is read of a workflow’s own question only', async () => {
    const turn = await asked('pays', { amount: 1, card: CARD });
    const [{ requestId }] = (await turn.pending()) as [ApprovalRow];
    const read = await foreigner.schedule('holdfast.readDecision', { v: 1, ...turn.names, requestId });
    expect(read).toEqual({ result: { v: 1, by: [] } });
    await turn.handle.terminate();
  });

  test('an answer is read under the key that its turn’s outcome has, and no call’s result', async () => {
    const turn = await asked('hushes');
    const result = await turn.result();
    const call = `${result.invocationId}.1.0`;
    expect(await readAnswer(turn, result, { key: call, content: true })).toEqual({
      result: { v: 1, content: { role: 'model', parts: [{ text: LONG }] } },
    });
    const key = `${result.invocationId}.2`;
    expect(result.text).toMatchObject({ key });
    expect(await readAnswer(turn, result, { key })).toEqual({ result: { v: 1, value: LONG } });
    const early = { ...result, events: { from: 1, to: 3 } };
    expect(JSON.stringify(await readAnswer(turn, early, { content: true }))).not.toContain(PIN);
  });

  test('a reference that somebody has made up names nothing that they don’t know', async () => {
    const turn = await asked('hushes');
    const result = await turn.result();
    const identity = { ...turn.names, messageId: 'made-up' };
    const invocationId = 'e-0000000000000000000000';
    const ref = { key: `${result.invocationId}.1.0`, digest: digestOf({ pin: PIN }), bytes: 1, gist: '' };
    const fence = { startedAt: Date.now() + 60_000, invocation: 1 };
    const ended = await foreigner.schedule('holdfast.settleStep', {
      ...{ v: 1, identity, invocationId, runKey: invocationId, step: 1, seq: 0, fence, message: 'hi' },
      ...{ agent: 'clerk', unsettled: [] },
      ending: { status: 'completed', output: { ref }, usage: result },
    });
    expect(ended).toHaveProperty('result');
    const own = { ...result, invocationId };
    expect(await readAnswer(turn, own, { key: ref.key })).toEqual({ result: { v: 1 } });
  });

  test('what ends a turn is told without what its tool keeps to itself', async () => {
    const plain = await asked('tells');
    expect(await readAnswer(plain, await plain.result(), { content: true })).toMatchObject({
      result: { content: { parts: [{ functionResponse: { response: { text: 'plain' } } }] } },
    });
    const turn = await asked('keeps');
    expect(await readAnswer(turn, await turn.result(), { content: true })).toMatchObject({
      result: { content: { parts: [{ functionResponse: { response: { result: '(sensitive)' } } }] } },
    });
  });
});

describe('whoever has Temporal alone', () => {
  async function turnOf(
    name: string,
    args = {},
  ): Promise<{ turn: AskingTurn; result: TurnResult; session: string }> {
    environment.gemini.reset(stepCalls([[{ name, args }]], 'done'));
    const turn = await AskingTurn.start(environment, { app: 'library' });
    const result = await turn.result();
    const { session = '' } = (await environment.store.sessions.find(turn.names)) ?? {};
    return { turn, result, session };
  }

  test('makes up no call that reads what a user has, or runs code', async () => {
    const { result, session } = await turnOf('search');
    await environment.client.memories.add({ app: 'library', userId: 'ada', text: `the code is ${PIN}` });
    const made = { v: 1, session, runKey: result.invocationId, agent: 'librarian', prepared: undefined };
    const artifact = `results/search/${result.invocationId}.1.0`;
    const calls = [
      ['artifact_head', { artifact }, 'x'],
      ['load_memory', { query: 'code' }, 'x'],
      ['Codes', { code: 'print(1)' }, ''],
    ] as const;
    for (const [name, value, callId] of calls) {
      for (const place of ['1.41', '1.0']) {
        const callKey = `${result.invocationId}.${place}`;
        const forged = await foreigner.schedule(name, { ...made, callKey, callId, args: { value } });
        expect(JSON.stringify(forged)).not.toContain(PIN);
        if (place === '1.41') expect(forged).toMatchObject({ refused: 'HOLDFAST_APPROVAL_NOT_PROVEN' });
      }
    }
    expect(executed).toEqual([]);
    environment.gemini.reset(stepCalls([[{ name: 'load_memory', args: { query: 'code' } }]], 'done'));
    const reading = await AskingTurn.start(environment, { app: 'library' });
    expect(JSON.stringify(await reading.responses())).toContain(PIN);
  });

  test('has no sensitive outcome told under another tool’s name', async () => {
    const turn = await asked('hushes');
    const { invocationId: runKey } = await turn.result();
    const { session = '' } = (await environment.store.sessions.find(turn.names)) ?? {};
    const call = {
      ...{ v: 1, session, runKey, callKey: `${runKey}.1.0`, agent: 'clerk' },
      args: { value: {} },
    };
    for (const callId of ['id-1-0', 'x']) {
      const told = await foreigner.schedule('tells', { ...call, callId });
      expect(told).toMatchObject({
        result: { response: { ref: { gist: expect.not.stringContaining(PIN) } } },
      });
    }
  });

  test('sends no job’s outcome to another session', async () => {
    const { turn, result, session } = await turnOf('orders');
    const callKey = `${result.invocationId}.1.0`;
    const jobId = jobIdOf(session, callKey);
    const workflowId = jobWorkflowIdOf(workflowIdOf('library', 'ada', turn.names.sessionId), callKey);
    await environment.temporal.workflow.getHandle(workflowId).terminate();
    await environment.client.jobs.complete(jobId, { result: { pin: PIN } });
    const ada = async () =>
      JSON.stringify(await environment.store.sessions.readEvents({ ...turn.names, limit: 100 }));
    expect(await ada()).not.toContain(PIN);
    const eve = { app: 'library', userId: 'eve', sessionId: 'e1' };
    const input = { v: 1, ...eve, session, turnWorkflowId: 'x', callKey, jobId, root: 'librarian' };
    expect(await foreigner.schedule('holdfast.deliverJob', input)).toEqual({
      result: { v: 1, delivered: true },
    });
    const told = environment.temporal.workflow.getHandle(workflowIdOf('library', 'eve', 'e1'));
    await expect(told.describe()).rejects.toThrow(/not found/);
    await expect.poll(ada).toContain(PIN);
  });
});
