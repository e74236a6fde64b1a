import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as holdfast from '../../src/index.ts';
import { inTier } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { Interpreter, type Rules } from './interpreter.ts';
import { type Library, PlannedAgents } from './planned-agents.ts';
import { type ShownToModel, sideBySide } from './shown-to-model.ts';
import { everyoneOf, type TreePlan, treesOf } from './tree-plan.ts';

/** `HOLDFAST_TREE_SEED` plays what has failed again. */
const SEED = Number(process.env.HOLDFAST_TREE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = Number(process.env.HOLDFAST_TREE_RUNS ?? inTier(1, 16));
/** Of ADK, which has no server and no store. */
const ADK_RUNS = Number(process.env.HOLDFAST_TREE_ADK_RUNS ?? inTier(8, 200));
const MESSAGES = ['go', 'and then?'];

/** What happens in a tree, as its agents are shown it: agents at the same time, a turn that is handed on, agents that are tools. */
const LIVELY = ['"lanes"', 'Transfer queued', 'user: request'];

/** Those that would take minutes are left out; of what may happen, something does in each, and each thing in some. */
function fits(plan: TreePlan, index: number, lively = LIVELY): boolean {
  const { shown, runs, isOpen } = interpreted(plan).tally;
  const told = JSON.stringify(shown);
  return (
    !isOpen && runs <= 24 && shown.length <= 40 && told.includes(lively[index % lively.length] as string)
  );
}

function hasHelpers(plan: TreePlan): boolean {
  return everyoneOf(plan).some((each) => each.kind === 'talker' && each.helpers.length > 0);
}

function interpreted(plan: TreePlan, rules?: Rules): Interpreter {
  const interpreter = new Interpreter(plan, rules);
  for (const message of MESSAGES) interpreter.send(message);
  return interpreter;
}

function expectShown(plan: TreePlan, shown: readonly ShownToModel[], interpreter: Interpreter): void {
  for (const { name } of everyoneOf(plan)) {
    const isOwn = ({ agent }: { agent: string }) => agent === name;
    const both = sideBySide(shown.filter(isOwn), interpreter.tally.shown.filter(isOwn));
    expect(both.shown, JSON.stringify(plan)).toEqual(both.expected);
  }
}

describe('a tree made at random does what a simple interpreter says', () => {
  const trees = treesOf(SEED, RUNS, fits).map((plan) => ({ plan, agents: new PlannedAgents(holdfast) }));
  let environment: TurnEnvironment;

  beforeAll(async () => {
    const apps = trees.map(
      ({ plan, agents }) => new holdfast.App({ name: plan.name, rootAgent: agents.agentOf(plan) }),
    );
    environment = await openTurnEnvironment({ apps });
  });
  afterAll(() => environment.close());

  test.concurrent.each(trees.map((tree) => [tree.plan.name, tree] as const))(
    `%s of seed ${SEED} [flow.sequential] [flow.parallel] [flow.loop] [flow.temp] [transfer.to] [transfer.next] [agentTool.state]`,
    async (name, { plan, agents }) => {
      const names = { app: name, userId: 'ada', sessionId: name };
      const described = JSON.stringify(plan);
      let calls = 0;
      for (const message of MESSAGES) {
        const turn = await environment.client.sendMessage({ ...names, message });
        const { status, usage, error } = await turn.result();
        expect({ status, error }, described).toEqual({ status: 'completed', error: undefined });
        calls += usage?.modelCalls ?? 0;
      }
      const interpreter = interpreted(plan);
      expectShown(plan, agents.shown, interpreter);
      expect(calls, described).toBe(interpreter.tally.shown.length);
      const session = await environment.store.sessions.get(names);
      expect(session?.state, described).toEqual(interpreter.state);
    },
  );
});

describe('the interpreter has the rules of @google/adk 2.0.0', () => {
  /** An agent that there isn't, or that it mustn't hand on to, is an answer here; ADK takes any, or throws. */
  const isSame = (plan: TreePlan, index: number) =>
    !hasHelpers(plan) && fits(plan, index, LIVELY.slice(0, 2)) && interpreted(plan).tally.refusals === 0;
  const trees = treesOf(SEED + 1, ADK_RUNS, isSame);

  test(`${ADK_RUNS} trees of seed ${SEED + 1} do the same there [adk.differential]`, async () => {
    const adk = (await import('@google/adk')) as unknown as Library;
    adk.setLogger({ setLogLevel() {}, log() {}, debug() {}, info() {}, warn() {}, error() {} });
    for (const plan of trees) {
      const agents = new PlannedAgents(adk);
      const sessionService = new adk.InMemorySessionService();
      const runner = new adk.Runner({ appName: 'trees', agent: agents.agentOf(plan), sessionService });
      const { id } = await sessionService.createSession({ appName: 'trees', userId: 'ada' });
      for (const text of MESSAGES) {
        const newMessage = { role: 'user', parts: [{ text }] };
        for await (const event of runner.runAsync({ userId: 'ada', sessionId: id, newMessage })) {
          expect(event.errorMessage).toBeUndefined();
        }
      }
      const interpreter = interpreted(plan, { escalatesThroughLoops: true, keepsNothing: true });
      expectShown(plan, agents.shown, interpreter);
      const session = await sessionService.getSession({ appName: 'trees', userId: 'ada', sessionId: id });
      expect(session?.state, JSON.stringify(plan)).toEqual(interpreter.state);
    }
  });
});
