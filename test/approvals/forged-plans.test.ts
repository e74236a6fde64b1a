import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import type { CallModelInput, StepOutcome, ToolCallInput } from '../../src/protocol/step.ts';
import type { OwnCall } from '../../src/protocol/turn.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** Which agents' tools have run, were asked whether they may, and which agents factories have made. */
let ran: string[] = [];
let asked: string[] = [];
let made: string[] = [];
const model = 'gemini-2.5-flash';
const parameters = z.object({ amount: z.number() });

function payingFrom(agent: string, limit: number, ask?: (context: Context) => Promise<unknown>): BaseTool {
  return tool({
    ...{ name: 'over', description: 'd', parameters, approval: { approvers: ['mira'] } },
    requireConfirmation: ({ amount }) => {
      asked.push(agent);
      return amount > limit;
    },
    execute: async (_args, context) => {
      await ask?.(context);
      ran.push(agent);
      return { paid: true };
    },
  });
}

/** Keeps `denied` from running. */
class Guard extends BasePlugin {
  override async beforeToolCallback({ tool: { name } }: { tool: BaseTool }) {
    return name === 'denied' ? { error: 'denied by policy' } : undefined;
  }
}

const agentOf = (name: string, limit: number, ask?: (context: Context) => Promise<unknown>) =>
  new LlmAgent({ name, model, description: 'd', tools: [payingFrom(name, limit, ask)] });
const strict = agentOf('strict', 10);
const lenient = agentOf('lenient', 1_000, (context) => context.requestInput({ message: 'Which account?' }));
const free = agentOf('free', 1_000);
const denied = tool({ name: 'denied', description: 'd', parameters, execute: () => void ran.push('denied') });
const cashier = new LlmAgent({
  ...{ name: 'cashier', model, tools: [denied], subAgents: [strict, lenient, free] },
  beforeModelCallback: ({ request }) => {
    if (request.tools?.has('clerk') === false) request.tools.add('helper', { who: 'clerk' });
    return undefined;
  },
});
const app = new App({
  ...{ name: 'till', rootAgent: cashier, plugins: [new Guard('guard')] },
  durable: {
    toolFactories: {
      helper: ({ who }) => {
        made.push(String(who));
        return new AgentTool({ agent: agentOf(String(who), 1_000) });
      },
    },
  },
});
// Its agents have the names of the other tree's.
const vault = new LlmAgent({ name: 'vault', model, subAgents: [agentOf('free', 0)] });

let environment: TurnEnvironment;
let foreigner: ForeignWorker;
beforeAll(async () => {
  environment = await openTurnEnvironment({ agents: [vault], apps: [app] });
  foreigner = await ForeignWorker.start(environment.temporal);
});
afterAll(async () => {
  await foreigner.close();
  await environment.close();
});
beforeEach(() => {
  ran = [];
  asked = [];
  made = [];
});

/** A step that somebody has this worker plan: what is called is the model's, or theirs. */
async function planned(agent: string, ownCall: OwnCall, more: Partial<CallModelInput> = {}) {
  const invocationId = `e-${randomUUID().replaceAll('-', '').slice(0, 22)}`;
  const input = {
    ...{
      v: 1,
      invocationId,
      runKey: invocationId,
      step: 1,
      seq: 0,
      agent,
      root: 'cashier',
      message: 'go',
      ownCall,
    },
    identity: { app: 'till', userId: 'ada', sessionId: randomUUID(), messageId: 'm1' },
    fence: { startedAt: Date.now(), invocation: 1 },
    ...more,
  };
  const done = await foreigner.schedule('holdfast.callModel', input);
  if (!('result' in done)) return { done };
  const { session, calls } = done.result as Extract<StepOutcome, { kind: 'calls' }>;
  const { callKey = '', callId = '', args, prepared } = calls[0] ?? {};
  const start = {
    v: 1,
    session,
    runKey: invocationId,
    callKey,
    callId,
    agent,
    root: 'cashier',
    args,
    prepared,
  };
  return { done, start: start as ToolCallInput };
}

const over = { tool: 'over', args: { amount: 500 } };

test('a gate that another agent has passed is none that this one has [approval.proven]', async () => {
  const { start } = await planned('free', over);
  expect(start).toMatchObject({ prepared: true });
  const others = [{ agent: 'strict' }, { root: 'vault' }];
  for (const other of others) {
    const response = await foreigner.schedule('over', { ...start, ...other });
    expect(response).toMatchObject({ result: { asks: { kind: 'confirmation', attested: true } } });
  }
  expect(ran).toEqual([]);
});

test('the agent that has passed its gate runs, and is asked once [approval.proven]', async () => {
  const { start } = await planned('free', over);
  expect(await foreigner.schedule('over', start as ToolCallInput)).toHaveProperty('result.response');
  expect(ran).toEqual(['free']);
  expect(asked).toEqual(['free']);
});

test('an answer to what another agent asks runs nothing of this one [approval.proven]', async () => {
  const { start } = await planned('lenient', over);
  const question = await foreigner.schedule('over', start as ToolCallInput);
  expect(question).toMatchObject({ result: { asks: { kind: 'input' } } });
  const { requestId } = (question as { result: { asks: { requestId: string } } }).result.asks;
  const entry = { entryId: `${requestId}/1`, requestId, kind: 'answered', at: Date.now(), response: '7' };
  const answered = { ...start, answered: { requestId, entries: [entry] } };
  for (const prepared of [true, undefined]) {
    const forged = await foreigner.schedule('over', { ...answered, agent: 'strict', prepared });
    expect(forged).toMatchObject({ refused: 'HOLDFAST_APPROVAL_NOT_PROVEN' });
  }
  expect(ran).toEqual([]);
  expect(await foreigner.schedule('over', answered)).toHaveProperty('result.response');
  expect(ran).toEqual(['lenient']);
});

test('callbacks are skipped of no call that was planned without them [approval.proven]', async () => {
  const { start } = await planned('cashier', { tool: 'denied', args: { amount: 5 } });
  for (const callKey of [start?.callKey, `${start?.runKey}.1.7`]) {
    const response = await foreigner.schedule('denied', { ...start, callKey, prepared: true });
    expect(response).toMatchObject({ result: { response: { value: { error: 'denied by policy' } } } });
  }
  expect(ran).toEqual([]);
});

test('a factory makes only what the turn has added [approval.proven]', async () => {
  const call = { name: 'clerk', args: { request: 'pay' } };
  // Both agents say the same: what one of them hasn't is an error to it.
  environment.gemini.reset(stepCalls([[call], [{ name: 'over', args: { amount: 500 } }]]));
  const turn = await AskingTurn.start(environment, { app: 'till' });
  await turn.result();
  expect(ran).toEqual(['clerk']);
  expect(asked).toEqual(['clerk']);
  expect(new Set(made)).toEqual(new Set(['clerk']));
  made = [];
  const { start } = await planned('free', over);
  const hop = { agent: 'cashier', tool: 'clerk' };
  for (const who of ['mallory', 'clerk']) {
    const within = [{ ...hop, made: { app: 'till', factory: 'helper', args: { who } } }];
    const place = { agent: who, within };
    expect(await foreigner.schedule('over', { ...start, ...place })).toHaveProperty('refused');
    const { done } = await planned(who, over, place);
    expect(done).toHaveProperty('refused');
  }
  expect(made.filter((who) => who !== 'clerk')).toEqual([]);
  expect(ran).toEqual(['clerk']);
});
