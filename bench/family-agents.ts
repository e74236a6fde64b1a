import { AgentTool } from '../src/agents/agent-tool.ts';
import type { BaseAgent } from '../src/agents/base-agent.ts';
import { LlmAgent } from '../src/agents/llm-agent.ts';
import { ParallelAgent } from '../src/agents/workflow-agents.ts';
import { BaseLlm } from '../src/models/base-llm.ts';
import type { LlmResponse } from '../src/models/llm-response.ts';
import type { LlmRequest } from '../src/tools/base-tool.ts';

/** Calls its agent so many times at once, and says so when all have answered. */
class CallingLlm extends BaseLlm {
  readonly #tool: string;
  readonly #times: number;

  constructor(tool: string, times: number) {
    super({ model: 'fake' });
    this.#tool = tool;
    this.#times = times;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const isAnswered = contents.at(-1)?.parts?.some((part) => part.functionResponse) ?? false;
    const calls = Array.from({ length: this.#times }, (_, index) => ({
      functionCall: { name: this.#tool, args: { request: `part ${index}` } },
    }));
    yield { content: { role: 'model', parts: isAnswered ? [{ text: 'done' }] : calls } };
  }
}

class SayingLlm extends BaseLlm {
  constructor() {
    super({ model: 'fake' });
  }

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    yield { content: { role: 'model', parts: [{ text: 'done' }] } };
  }
}

function saying(name: string): LlmAgent {
  return new LlmAgent({ name, model: new SayingLlm() });
}

/** Calls the agent of a tool so many times in one step. */
export function callingAtOnce(name: string, times: number, agent: BaseAgent = saying('helper')): LlmAgent {
  return new LlmAgent({
    name,
    model: new CallingLlm(agent.name, times),
    maxParallelCalls: 100,
    tools: [new AgentTool({ agent })],
  });
}

/** An agent whose tool is an agent whose tool is an agent, so many below the first one. */
export function callingDown(name: string, levels: number): LlmAgent {
  let agent = saying(`level_${levels}`);
  for (let level = levels - 1; level > 0; level--) agent = callingAtOnce(`level_${level}`, 1, agent);
  return callingAtOnce(name, 1, agent);
}

/** So many agents at the same time, in one session. */
export function allAtOnce(name: string, agents: number): ParallelAgent {
  const subAgents = Array.from({ length: agents }, (_, index) => saying(`part_${index}`));
  return new ParallelAgent({ name, subAgents, maxParallel: agents });
}
