import {
  createEvent,
  createEventActions,
  type Event,
  FunctionTool,
  getFunctionCalls,
  getFunctionResponses,
  isBaseTool,
  isFunctionTool,
  isLlmAgent,
  LlmAgent,
  type LlmAgentConfig,
  State,
  type ToolExecuteArgument,
  type ToolOptions,
} from '@google/adk';
import { z } from 'zod/v4';

const parameters = z.object({ text: z.string(), times: z.number().default(1) });

const options: ToolOptions<typeof parameters> = {
  name: 'repeat',
  description: 'Repeats a text.',
  parameters,
  execute: repeat,
};

function repeat({ text, times }: ToolExecuteArgument<typeof parameters>): string {
  return text.repeat(times);
}

function config(name: string): LlmAgentConfig {
  return { name, model: 'echo', instruction: 'Repeat.', tools: [new FunctionTool(options)] };
}

const agents = ['first', 'second'].map((name) => new LlmAgent(config(name)));

export function inspect(value: unknown): string {
  if (isLlmAgent(value))
    return `${value.name} ${value.description} ${value.tools.length} ${value.rootAgent.name}`;
  if (isFunctionTool(value) || isBaseTool(value)) return `${value.name} ${value._getDeclaration()?.name}`;
  return agents.map((agent) => agent.findAgent('first')?.name).join();
}

export function replay(events: Event[]): Event {
  const state = new State({}, {});
  for (const event of events) state.update(event.actions.stateDelta);
  const calls = events.flatMap(getFunctionCalls).map((call) => call.name);
  const answered = events.flatMap(getFunctionResponses).map((response) => response.id);
  return createEvent({
    invocationId: events[0]?.invocationId,
    author: 'user',
    content: { role: 'user', parts: [{ text: `${calls} ${answered} ${state.hasDelta()}` }] },
    actions: createEventActions({ stateDelta: state.toRecord() }),
  });
}
