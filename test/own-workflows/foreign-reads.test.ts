import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const CARD = 'CARD-4111';
const PIN = 'PIN-4242';
const LONG = 'x'.repeat(20_000);
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
  environment = await openTurnEnvironment({ agents: [agent] });
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
