import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import type { PluginLogger } from '../../src/plugins/plugin-logger.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { ContextInit, ToolCallRecord } from '../../src/tools/invocation-context.ts';
import { OwnModel } from '../setup/own-model.ts';

export const findOrder = tool({ name: 'find_order', description: 'finds', execute: () => ({ found: true }) });
export const charge = tool({
  name: 'charge',
  description: 'charges a card',
  parameters: { type: 'object', properties: { amount: { type: 'number' }, card: { type: 'string' } } },
  sensitive: ['card'],
  execute: () => ({ charged: true }),
});
export const readVault = tool({
  name: 'read_vault',
  description: 'reads secrets',
  sensitive: true,
  execute: () => ({ secret: 'tulip' }),
});

export const support = new LlmAgent({
  name: 'support',
  description: 'helps',
  model: new OwnModel(),
  tools: [findOrder, charge, readVault],
});

export const discreet = new LlmAgent({
  name: 'discreet',
  model: new OwnModel(),
  tools: [findOrder],
  sensitive: true,
});

/** A context as the engine makes them, of an invocation whose calls so far are `calls`. */
export function contextOf(
  init: Partial<ContextInit> & { calls?: readonly ToolCallRecord[]; hasTranscript?: false } = {},
): Context {
  const { calls = [], agent = support, hasTranscript = true, ...more } = init;
  return new Context({
    appName: 'shop',
    userId: 'ada',
    sessionId: 's1',
    invocationId: 'e-1',
    agentName: agent.name,
    agent,
    state: {},
    eventActions: createEventActions(),
    ...(hasTranscript
      ? { transcript: { events: () => [], contents: () => [], toolCalls: () => calls } }
      : {}),
    ...more,
  });
}

/** A context of a call, under its id on the wire. */
export function callContextOf(callId: string, init: Parameters<typeof contextOf>[0] = {}): Context {
  return contextOf({
    ...init,
    call: {
      callId,
      callKey: `e-1.1.${callId}`,
      session: 's',
      attempt: 1,
      once: { get: () => undefined, put: async (_key, value) => value },
      heartbeat: () => {},
    },
  });
}

export function recordOf(
  { name }: Pick<BaseTool, 'name'>,
  args: Record<string, unknown>,
  more: Partial<ToolCallRecord> = {},
): ToolCallRecord {
  const callKey = `e-1.${more.step ?? 1}.0`;
  return {
    ...{
      callKey,
      callId: 'c1',
      name,
      agent: 'support',
      args,
      response: { ok: true },
      failed: false,
      step: 1,
    },
    ...more,
  };
}

export interface Line {
  level: 'info' | 'warn';
  message: string;
  attributes: Record<string, unknown>;
}

export function recordingLogger(): PluginLogger & { lines: Line[] } {
  const lines: Line[] = [];
  const to =
    (level: Line['level']) =>
    (message: string, attributes: Record<string, unknown> = {}) =>
      void lines.push({ level, message, attributes });
  return { lines, info: to('info'), warn: to('warn') };
}
