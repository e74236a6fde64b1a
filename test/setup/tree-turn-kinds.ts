import { AgentTool } from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { CustomAgent } from '../../src/agents/custom-agent.ts';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { LoopAgent, ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { App } from '../../src/app/app.ts';
import {
  callKeyOf,
  childWorkflowIdOf,
  invocationIdOf,
  runKeyOfAgent,
  runKeyOfCall,
  workflowIdOf,
} from '../../src/protocol/identity.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, error, type GeminiReply, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { EXIT_LOOP } from '../../src/tools/built-in/loop-control-tools.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { SHORT_RUNS } from './temporal-server.ts';
import type { TurnEnvironment } from './turn-environment.ts';
import type { TurnKind } from './turn-kinds.ts';

const look = tool({ name: 'look', description: 'looks', execute: () => ({ seen: true }) });
const pay = tool({
  name: 'pay',
  description: 'pays',
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});

const agent = (name: string, config: Partial<LlmAgentConfig> = {}) =>
  new LlmAgent({ name, model: 'gemini-2.5-flash', ...config });

class Twice extends CustomAgent<{ rounds: number }> {
  override next(_context: unknown, state: { rounds: number } | undefined) {
    const [only] = this.subAgents;
    const rounds = state?.rounds ?? 0;
    if (rounds === 2 || only === undefined) return { done: [] };
    return { run: only, state: { rounds: rounds + 1 } };
  }
}

const trees = {
  sequence: () =>
    new SequentialAgent({
      name: 'sequence_root',
      subAgents: [agent('looks', { tools: [look] }), agent('says')],
    }),
  pays: () => new SequentialAgent({ name: 'pays_root', subAgents: [agent('pays', { tools: [pay] })] }),
  parallel: () =>
    new ParallelAgent({
      name: 'parallel_root',
      subAgents: [agent('says'), agent('looks', { tools: [look] })],
    }),
  fails: () =>
    new ParallelAgent({
      name: 'fails_root',
      subAgents: [agent('fails', { modelRetry: { maximumAttempts: 1 } }), agent('pays', { tools: [pay] })],
    }),
  loop: () =>
    new LoopAgent({
      name: 'loop_root',
      maxIterations: 3,
      subAgents: [agent('says'), agent('exits', { tools: [EXIT_LOOP] })],
    }),
  custom: () => new Twice({ name: 'custom_root', subAgents: [agent('says')] }),
  transfer: () => agent('transfers', { subAgents: [agent('says', { description: 'says' })] }),
  'agent-tool': () =>
    agent('asks_looks', { tools: [new AgentTool({ agent: agent('looks', { tools: [look] }) })] }),
  'gated-agent-tool': () =>
    agent('asks_pays', {
      tools: [
        new AgentTool({
          agent: agent('pays', { tools: [pay] }),
          requireConfirmation: true,
          timeout: '1h',
          attempts: 2,
        }),
      ],
    }),
  'agent-without-a-worker': () =>
    agent('asks_afar', { tools: [new AgentTool({ agent: agent('looks'), taskQueue: 'nowhere' })] }),
} satisfies Record<string, () => BaseAgent>;

/** New ones for each environment: an agent keeps the connection to the model that it has asked. */
export const treeKindApps = () =>
  Object.entries(trees).map(([name, rootAgent]) => new App({ name: `tree-${name}`, rootAgent: rootAgent() }));

/** What each agent says where it has not been answered yet. */
const FIRST: Record<string, GeminiReply> = {
  looks: call('look'),
  pays: call('pay'),
  exits: call('exit_loop'),
  fails: error(400, 'no luck'),
  transfers: call('transfer_to_agent', { agentName: 'says' }),
  asks_looks: call('looks', { request: 'look' }),
  asks_pays: call('pays', { request: 'pay' }),
  asks_afar: call('looks', { request: 'look' }),
};

/** Who is asked is known by the identity that a request tells. */
const script: GeminiScript = ({ systemInstruction, contents = [] }) => {
  const [, name = ''] = /internal name is \\?"([^"\\]+)/.exec(JSON.stringify(systemInstruction ?? '')) ?? [];
  const isAnswered = contents.at(-1)?.parts?.some(({ functionResponse }) => functionResponse !== undefined);
  return (isAnswered ? undefined : FIRST[name]) ?? text(`${name} has nothing to add`);
};

const invocationOf = ({ app, userId, sessionId }: SessionNames) =>
  invocationIdOf(app, userId, sessionId, 'go');

const rootOf = ({ app, userId, sessionId }: SessionNames) => workflowIdOf(app, userId, sessionId);

/** The agent that a workflow agent runs first. */
const planned = (agent: string) => (names: SessionNames) =>
  childWorkflowIdOf(rootOf(names), runKeyOfAgent(invocationOf(names), { agent, step: 1, index: 0 }));

/** The agent of the first call. */
const called = (agent: string) => (names: SessionNames) => {
  const invocation = invocationOf(names);
  return childWorkflowIdOf(rootOf(names), runKeyOfCall(invocation, callKeyOf(invocation, 1, 0), { agent }));
};

type Act = (environment: TurnEnvironment, names: SessionNames) => Promise<void>;

function running(tree: keyof typeof trees, act?: Act, more: Partial<TurnKind> = {}): TurnKind {
  return {
    app: `tree-${tree}`,
    script,
    async drive(environment, names) {
      const sent = await environment.client.sendMessage({ ...names, message: 'go', messageId: 'go' });
      await act?.(environment, names);
      await environment.temporal.workflow
        .getHandle(sent.workflowId)
        .result()
        .catch(() => undefined);
    },
    ...more,
  };
}

async function nextRequest(
  { client }: TurnEnvironment,
  names: SessionNames,
  agent?: string,
): Promise<string> {
  for (;;) {
    const requests = await client.approvals.list(names);
    const request = agent === undefined ? requests[0] : requests.find((one) => one.agent === agent);
    if (request !== undefined) return request.requestId;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const approve: Act = async (environment, names) => {
  const requestId = await nextRequest(environment, names);
  await environment.client.approvals.confirm({ requestId }, { confirmed: true });
};

/** As an operator types it, at the root. */
const approveAtRoot: Act = async (environment, names) => {
  const requestId = await nextRequest(environment, names);
  const root = environment.temporal.workflow.getHandle(rootOf(names));
  await root.signal('confirm', { requestId, confirmed: true });
};

const cancel: Act = async (environment, names) => {
  await nextRequest(environment, names);
  await environment.temporal.workflow.getHandle(rootOf(names)).cancel();
};

const interruptWithChild: Act = async ({ client, temporal }, names) => {
  const child = temporal.workflow.getHandle(called('looks')(names));
  while ((await child.describe().catch(() => undefined)) === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await client.interrupt(names);
};

const oftenNew = { serverConfig: SHORT_RUNS };

/** Turns of many agents. */
export const TREE_TURN_KINDS: Record<string, TurnKind> = {
  'agents-one-after-another': running('sequence'),
  'agents-one-after-another-child': running('sequence', undefined, { recordedWorkflow: planned('looks') }),
  'agents-continue-as-new': running('sequence', undefined, { ...oftenNew, recorded: 'first' }),
  'agents-continued-as-new': running('sequence', undefined, oftenNew),
  'agents-at-once': running('parallel'),
  'agents-at-once-one-fails': running('fails'),
  'agents-in-a-loop': running('loop'),
  'agents-of-a-custom-agent': running('custom'),
  'agent-that-transfers': running('transfer'),
  'agent-asked-by-a-tool': running('agent-tool'),
  'agent-asked-by-a-tool-child': running('agent-tool', undefined, { recordedWorkflow: called('looks') }),
  'agent-asked-by-a-gated-tool': running('gated-agent-tool', async (environment, names) => {
    await approve(environment, names);
    const requestId = await nextRequest(environment, names, 'pays');
    await environment.client.approvals.confirm({ requestId }, { confirmed: true });
  }),
  'agent-without-a-worker-interrupted': running('agent-without-a-worker', interruptWithChild),
  'approved-below-the-root': running('pays', approve),
  'approved-below-the-root-child': running('pays', approve, { recordedWorkflow: planned('pays') }),
  'approved-at-the-root': running('pays', approveAtRoot),
  'cancelled-with-agents-below': running('pays', cancel),
  'cancelled-with-agents-below-child': running('pays', cancel, { recordedWorkflow: planned('pays') }),
};
