import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { App } from '../../src/agents/app.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { LoopAgent } from '../../src/agents/loop-agent.ts';
import { ParallelAgent } from '../../src/agents/parallel-agent.ts';
import { SequentialAgent } from '../../src/agents/sequential-agent.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { EXIT_LOOP } from '../../src/tools/built-in/exit-loop-tool.ts';
import { tool } from '../../src/tools/tool.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { argsOf, Interpreter, instructionOf, keptBy, writtenBy } from './interpreter.ts';
import { inOneOrder, type ShownToModel, shownToModel } from './shown-to-model.ts';
import { calling } from './speaking.ts';
import { agentsOf, type Scope, type TalkerPlan, type TreePlan, treesOf } from './tree-plan.ts';

/** `HOLDFAST_TREE_SEED` plays what has failed again. */
const SEED = Number(process.env.HOLDFAST_TREE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = Number(process.env.HOLDFAST_TREE_RUNS ?? 16);
const MESSAGES = ['go', 'and then?'];

/** Trees in which little happens, and those that would take minutes, are left out. */
function fits(plan: TreePlan): boolean {
  const { shown, runs } = interpreted(plan);
  const told = JSON.stringify(shown);
  return runs <= 24 && shown.length <= 40 && (told.includes('"lanes"') || told.includes('queued'));
}

function interpreted(plan: TreePlan): Interpreter {
  const interpreter = new Interpreter(plan);
  for (const message of MESSAGES) interpreter.send(message);
  return interpreter;
}

const TREES = treesOf(SEED, RUNS, fits);

/** What the models of each tree were shown. */
const shownIn = new Map<string, ShownToModel[]>();
let environment: TurnEnvironment;

beforeAll(async () => {
  const apps = TREES.map((plan) => {
    shownIn.set(plan.name, []);
    return new App({ name: plan.name, rootAgent: agentOf(plan, plan.name) });
  });
  environment = await openTurnEnvironment({ apps });
});

afterAll(() => environment.close());

describe.concurrent('a tree made at random does what a simple interpreter says', () => {
  test.each(TREES.map((plan) => [plan.name, plan] as const))(
    `%s of seed ${SEED} [flow.sequential] [flow.parallel] [flow.loop] [flow.temp] [transfer.to] [transfer.next]`,
    async (name, plan) => {
      const names = { app: name, userId: 'ada', sessionId: name };
      const described = JSON.stringify(plan);
      let calls = 0;
      for (const message of MESSAGES) {
        const turn = await environment.client.sendMessage({ ...names, message });
        const { status, usage, error } = await turn.result();
        expect({ status, error }, described).toEqual({ status: 'completed', error: undefined });
        calls += usage?.modelCalls ?? 0;
      }
      const { shown, state } = interpreted(plan);
      for (const agent of agentsOf(plan)) {
        const expected = shown.filter((each) => each.agent === agent.name);
        const actual = (shownIn.get(name) ?? []).filter((each) => each.agent === agent.name);
        const pairs = actual.map(({ sees, ...rest }, at) => {
          const both = inOneOrder(sees, expected[at]?.sees ?? []);
          const { sees: _, ...wanted } = expected[at] ?? {};
          return [
            { ...rest, sees: both.seen },
            { ...wanted, sees: both.expected },
          ];
        });
        expect(
          pairs.map(([seen]) => seen),
          described,
        ).toEqual(pairs.map(([, wanted]) => wanted));
        expect(actual.length, described).toBe(expected.length);
      }
      expect(calls).toBe(shown.length);
      const session = await environment.store.getSession(names);
      expect(session?.state, described).toEqual(state);
    },
  );
});

/** The agents of a plan on the real stack. */
function agentOf(plan: TreePlan, tree: string): BaseAgent {
  const { name } = plan;
  const subAgents = plan.children.map((child) => agentOf(child, tree));
  switch (plan.kind) {
    case 'sequence':
      return new SequentialAgent({ name, subAgents });
    case 'parallel':
      return new ParallelAgent({ name, subAgents });
    case 'loop':
      return new LoopAgent({ name, subAgents, maxIterations: plan.rounds });
    case 'talker':
      return talker(plan, tree, subAgents);
  }
}

function talker(plan: TalkerPlan, tree: string, subAgents: BaseAgent[]): LlmAgent {
  const { name } = plan;
  let said = 0;
  const model = new OwnModel(async (request) => {
    shownIn
      .get(tree)
      ?.push(shownToModel(name, structuredClone({ ...request, toolsDict: {}, tools: undefined })));
    said += 1;
    return lineOf(plan, said - 1);
  });
  const write = tool({
    name: 'write',
    description: 'd',
    parameters: {
      type: 'object',
      properties: { scope: { type: 'string' }, value: { type: 'number' } },
    } as const,
    execute: ({ scope, value }, { state }) => {
      state.set(writtenBy(name, scope as Scope), value);
      return { written: value };
    },
  });
  return new LlmAgent({
    name,
    model,
    subAgents,
    instruction: instructionOf(plan),
    tools: [write, EXIT_LOOP],
    includeContents: plan.include,
    disallowTransferToParent: !plan.toParent,
    disallowTransferToPeers: !plan.toPeers,
    ...(plan.keeps ? { outputKey: keptBy(name) } : {}),
  });
}

function lineOf({ script, name }: TalkerPlan, at: number): LlmResponse {
  const line = script[at] ?? { say: 'done' };
  if ('say' in line) return saying(`${line.say} from ${name}, ${at}`);
  return calling(...line.calls.map((call) => ({ name: call.call, args: argsOf(call) })));
}
