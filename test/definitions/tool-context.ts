import type { BaseToolParams, LlmRequest } from '../../src/tools/base-tool.ts';
import { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { CallInit, ContextInit } from '../../src/tools/invocation-context.ts';

export const INIT: ContextInit = {
  appName: 'shop',
  userId: 'ada',
  sessionId: 's1',
  invocationId: 'e-1',
  agentName: 'support',
  state: { city: 'Graz' },
  userContent: { role: 'user', parts: [{ text: 'hi' }] },
};

export const contextWith = (init: Partial<ContextInit> = {}) => new Context({ ...INIT, ...init });

/** A call that remembers nothing. */
export const callOf = (init: Partial<CallInit> = {}): CallInit => ({
  callId: 'call_0',
  callKey: 'e-1.1.0',
  session: 'of-the-store',
  attempt: 1,
  heartbeat: () => undefined,
  once: { get: () => undefined, put: async (_, value) => value },
  ...init,
});

export const emptyRequest = (model = 'gemini-2.5-flash'): LlmRequest => ({
  model,
  contents: [],
  config: {},
  toolsDict: {},
});

/** A tool of this name that tells which one it is. */
export const named = (
  name: string,
  options: Partial<Omit<BaseToolParams, 'cancel'>> & { from?: string } = {},
) => {
  const { from = name, ...rest } = options;
  return tool({ name, description: from, execute: () => from, ...rest });
};

/** What the model is told of: names of declarations, in order. */
export const declared = ({ config }: LlmRequest) =>
  (config?.tools ?? []).flatMap((entry) =>
    'functionDeclarations' in entry ? (entry.functionDeclarations ?? []).map(({ name }) => name) : [],
  );
