import {
  AgentTool,
  BaseAgent,
  type BaseAgentConfig,
  createEvent,
  type Event,
  EXIT_LOOP,
  type InvocationContext,
  isAgentTool,
  isLoopAgent,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
} from '@google/adk';
import { z } from 'zod';

const model = 'gemini-2.5-flash';

const librarian = new LlmAgent({
  name: 'librarian',
  model,
  description: 'Finds sources.',
  inputSchema: z.object({ topic: z.string() }),
  outputSchema: z.object({ sources: z.array(z.string()) }),
});

const researcher = (name: string) =>
  new LlmAgent({
    name,
    model,
    instruction: `Research ${name}.`,
    tools: [new AgentTool({ agent: librarian, skipSummarization: false })],
    outputKey: name,
  });

const research = new ParallelAgent({
  name: 'research',
  description: 'Looks at all sides.',
  subAgents: [researcher('prices'), researcher('people')],
});

const critic = new LlmAgent({ name: 'critic', model, tools: [EXIT_LOOP] });
const writer = new LlmAgent({ name: 'writer', model, disallowTransferToPeers: true });
const drafts = new LoopAgent({ name: 'drafts', subAgents: [writer, critic], maxIterations: 3 });

interface GateConfig extends BaseAgentConfig {
  key: string;
}

export class Gate extends BaseAgent<GateConfig> {
  private readonly key: string;

  constructor(config: GateConfig) {
    super(config);
    this.key = config.key;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    for (const subAgent of this.subAgents) {
      if (context.session.state[this.key] === true) return;
      for await (const event of subAgent.runAsync(context)) {
        yield event;
        if (event.actions.escalate) return;
      }
    }
    yield createEvent({ author: this.name, invocationId: context.invocationId, branch: context.branch });
  }

  // biome-ignore lint/correctness/useYield: nothing is live
  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {
    throw new Error('not live');
  }
}

const steps = new SequentialAgent({ name: 'steps', subAgents: [research, drafts] });
export const gate = new Gate({ name: 'gate', key: 'printed', subAgents: [steps] });

export const rootAgent = new LlmAgent({
  name: 'editor',
  model,
  description: 'Talks with the reader.',
  subAgents: [gate, new LlmAgent({ name: 'archivist', model, disallowTransferToParent: true })],
});

export const copies = {
  formal: rootAgent.clone({ name: 'formal_editor', instruction: 'Be formal.' }),
  short: drafts.clone({ maxIterations: 1 }),
};

export function loopsIn(agent: BaseAgent): string[] {
  const own = isLoopAgent(agent) ? [`${agent.name} ${agent.maxIterations ?? 'for ever'}`] : [];
  const tools = agent instanceof LlmAgent ? agent.tools.filter(isAgentTool).map(({ name }) => name) : [];
  return [...own, ...tools, ...agent.subAgents.flatMap(loopsIn)];
}
