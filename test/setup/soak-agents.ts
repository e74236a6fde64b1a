import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import type { PluginParams } from '../../src/plugins/plugin-failed.ts';
import type { Context } from '../../src/tools/context.ts';
import type { DurableOptions } from '../../src/tools/durable-options.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { SoakEffects } from './soak-effects.ts';
import { fillerOf } from './soak-random.ts';

/** What a tool says when it fails by its own doing. */
export const OWN_FAILURE = 'fails as planned';

/** Failures of its own before `flaky` succeeds; one more would be the last that is tolerated. */
const FLAKY_FAILURES = 2;

export const SOAK_TOOLS = ['note', 'inline_note', 'charge', 'alone', 'flaky', 'broken', 'stream'] as const;

export type SoakTool = (typeof SOAK_TOOLS)[number];

const parameters = z.object({
  /** Which call of the turn it is. */
  n: z.number(),
  /** Milliseconds before and after the effect. */
  before: z.number(),
  after: z.number(),
  /** Characters of the result. */
  give: z.number(),
  text: z.string(),
});

type SoakArguments = z.infer<typeof parameters>;

/** Result of each tool that succeeds. */
export interface SoakResponse {
  callKey: string;
  /** The attempt that has had the effect. */
  attempt: number;
  n: number;
  /** Characters of the text that it got. */
  got: number;
  text: string;
  /** Of `charge`: what the payment service recorded. */
  charge?: { attempt: number };
  /** Of `alone`: how many of the session's calls of it there have been. */
  count?: number;
}

type Act = (context: Context, args: SoakArguments) => Promise<Partial<SoakResponse>> | Partial<SoakResponse>;

const MODEL = {
  model: 'gemini-2.5-flash',
  modelRetry: { initialInterval: '200ms', maximumInterval: '1s' },
} as const;

/** An agent whose tools have their effects outside of its process. */
export function soakAgents(effects: SoakEffects): LlmAgent[] {
  return [new LlmAgent({ ...MODEL, name: 'soak', tools: soakTools(effects) })];
}

/** An app whose plugin, and the callbacks of whose agent, count in the state what they are asked. */
export function soakApps(effects: SoakEffects): App[] {
  const count = ({ state }: Context, what: HookCount): undefined => {
    state.set(what, (state.get<number>(what) ?? 0) + 1);
  };
  class Counts extends BasePlugin {
    override async afterModelCallback({ callbackContext }: PluginParams<'afterModelCallback'>) {
      return count(callbackContext, 'answered');
    }
    override async onEventCallback({ event }: PluginParams<'onEventCallback'>) {
      return { ...event, customMetadata: { seen: true } };
    }
    override async onToolCallCompleted({ call, callbackContext }: PluginParams<'onToolCallCompleted'>) {
      const { callKey } = call;
      effects.note({ kind: 'heard', callKey, attempt: 0 });
      count(callbackContext, 'completed');
    }
  }
  const rootAgent = new LlmAgent({
    ...MODEL,
    name: 'hooked',
    tools: soakTools(effects),
    beforeAgentCallback: (context) => count(context, 'begun'),
    afterAgentCallback: (context) => count(context, 'ended'),
    beforeModelCallback: ({ context }) => count(context, 'asked'),
    beforeToolCallback: ({ context }) => count(context, 'called'),
  });
  return [new App({ name: 'hooked', rootAgent, plugins: [new Counts('counts')] })];
}

/** What callbacks and plugins count, by the key of the state. */
export type HookCount = 'begun' | 'ended' | 'asked' | 'answered' | 'called' | 'completed';

function soakTools(effects: SoakEffects) {
  const runOf = (name: SoakTool, act: Act) => async (args: SoakArguments, context: Context) => {
    const { callKey, attempt, abortSignal } = context;
    await setTimeout(args.before, undefined, { signal: abortSignal });
    const acted = await act(context, args);
    effects.note({ kind: 'effect', tool: name, callKey, attempt, n: args.n });
    await setTimeout(args.after, undefined, { signal: abortSignal });
    const response: SoakResponse = {
      callKey,
      attempt,
      n: args.n,
      got: args.text.length,
      text: fillerOf(callKey, args.give),
      ...acted,
    };
    return response;
  };
  const soakTool = (name: SoakTool, durable: DurableOptions, act: Act = () => ({})) =>
    tool({
      name,
      description: 'has an effect outside of the process',
      parameters,
      ...(durable.execution === 'inline' ? {} : { heartbeatTimeout: '2s' }),
      retry: { initialInterval: '100ms', maximumInterval: '400ms' },
      ...durable,
      execute: runOf(name, act),
    });
  const charge: Act = async (context) => {
    const { callKey, attempt, idempotencyKey } = context;
    const charged = await context.once('charge', () => {
      effects.note({ kind: 'charged', callKey, attempt });
      return effects.charge(idempotencyKey, attempt);
    });
    return { charge: charged };
  };
  const alone: Act = ({ state }) => {
    const count = Number(state.get('count') ?? 0) + 1;
    state.set('count', count);
    return { count };
  };
  const flaky: Act = ({ callKey }) => {
    if (effects.failuresOf(callKey) >= FLAKY_FAILURES) return {};
    effects.countFailure(callKey);
    throw new Error(OWN_FAILURE);
  };
  const broken: Act = ({ callKey }) => {
    effects.countFailure(callKey);
    throw new Error(OWN_FAILURE);
  };
  const run = runOf('stream', () => ({}));
  const stream = tool({
    name: 'stream',
    description: 'has an effect outside of the process, and tells of it',
    parameters,
    heartbeatTimeout: '2s',
    execute: async function* (args, context) {
      yield 'begun ';
      yield await run(args, context);
    },
  });
  return [
    soakTool('note', {}),
    soakTool('inline_note', { execution: 'inline' }),
    soakTool('charge', {}, charge),
    soakTool('alone', { isConcurrencySafe: false }, alone),
    soakTool('flaky', {}, flaky),
    soakTool('broken', {}, broken),
    stream,
  ];
}
