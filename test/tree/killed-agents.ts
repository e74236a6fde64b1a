import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { LoopAgent, ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { App } from '../../src/app/app.ts';
import { calls, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';

export const TREE_APP = 'tree';
export const ROUNDS = 2;

/** Calls of each agent, in each round; the expert is a tool's agent. */
const CALLS: Record<string, { name: string; args?: Record<string, unknown> }[]> = {
  left: [{ name: 'look' }, { name: 'pay' }],
  after: [{ name: 'look' }],
  right: [{ name: 'look' }],
  asking: [{ name: 'expert', args: { request: 'pay it' } }],
  expert: [{ name: 'look' }, { name: 'pay' }],
};

/** Runs of tools that a turn has without any fault, and those among them that people approve. */
export const EFFECTS = { all: 6 * ROUNDS, paid: 2 * ROUNDS };

/** A file outside of the processes that are killed: one write is one system call, which is made or not. */
export class TreeEffects {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, 'tree-effects');
  }

  had(name: string, callKey: string): void {
    appendFileSync(this.#file, `${name} ${callKey}\n`);
  }

  /** `<tool> <call key>`, in order. */
  read(): string[] {
    if (!existsSync(this.#file)) return [];
    return readFileSync(this.#file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  }
}

/** Three levels of agents that share a session, and one of a tool below them. */
export function treeApp(effects: TreeEffects): App {
  const effect = (name: string, gate: object) =>
    tool({
      name,
      description: 'has an effect outside of the process',
      heartbeatTimeout: '2s',
      // Whose worker dies behind its effect is told so, and doesn't run again.
      idempotent: false,
      ...gate,
      execute: (_args, { callKey }) => {
        effects.had(name, callKey);
        return { done: callKey };
      },
    });
  const tools = [effect('look', {}), effect('pay', { requireConfirmation: true })];
  const agent = (name: string, more: object = {}) =>
    new LlmAgent({
      name,
      description: name,
      model: 'gemini-2.5-flash',
      modelRetry: { initialInterval: '200ms', maximumInterval: '1s' },
      tools,
      ...more,
    });
  const both = new ParallelAgent({
    name: 'both',
    subAgents: [
      new SequentialAgent({ name: 'steps', subAgents: [agent('left'), agent('after')] }),
      agent('right'),
      agent('asking', { tools: [new AgentTool({ agent: agent('expert') })] }),
    ],
  });
  const rootAgent = new LoopAgent({ name: 'rounds', subAgents: [both], maxIterations: ROUNDS });
  return new App({ name: TREE_APP, rootAgent });
}

/** Each agent calls what it calls, then says so. */
export const treeScript: GeminiScript = (request) => {
  const told = JSON.stringify(request.systemInstruction ?? '');
  const name = /internal name is \\?"(\w+)/.exec(told)?.[1] ?? '';
  const last = request.contents?.at(-1)?.parts ?? [];
  if (last.some(({ functionResponse }) => functionResponse !== undefined)) return text(`${name} is done`);
  const planned = CALLS[name];
  if (planned === undefined) return text(`nobody: ${told}`);
  return calls(planned);
};
