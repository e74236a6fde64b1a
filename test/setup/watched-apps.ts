import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import {
  BaseCodeExecutor,
  type CodeExecutionResult,
  type ExecuteCodeParams,
} from '../../src/code-executors/base-code-executor.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import type { PluginParams } from '../../src/plugins/plugin-failed.ts';
import { ReflectAndRetryToolPlugin } from '../../src/plugins/reflect-and-retry-tool-plugin.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { Witness } from './witness.ts';

const MODEL = 'gemini-2.5-flash';
const ONCE = { retry: { maximumAttempts: 1 } } as const;

/** Apps of which a witness sees each callback, each hook and each effect. Their state counts what user code was asked. */
export function watchedApps(witness: Witness): App[] {
  const count = ({ state }: Context, what: string) => state.set(what, (state.get<number>(what) ?? 0) + 1);
  const callback = async (context: Context, what: string): Promise<undefined> => {
    count(context, what);
    await witness.saw(context.sessionId, what);
  };
  const saw = ({ sessionId, callKey }: Context, what: string) => witness.saw(sessionId, what, callKey);

  class Watch extends BasePlugin {
    override async onUserMessageCallback({
      invocationContext,
      userMessage,
    }: PluginParams<'onUserMessageCallback'>) {
      await witness.saw(invocationContext.session.id, 'message');
      return { ...userMessage, parts: [{ text: `${userMessage.parts?.[0]?.text}|heard` }] };
    }
    override async beforeRunCallback({ invocationContext }: PluginParams<'beforeRunCallback'>) {
      await witness.saw(invocationContext.session.id, 'before run');
      return undefined;
    }
    override async onEventCallback({ invocationContext, event }: PluginParams<'onEventCallback'>) {
      await witness.saw(invocationContext.session.id, 'event');
      return { ...event, customMetadata: { seen: (Number(event.customMetadata?.seen) || 0) + 1 } };
    }
    override async afterModelCallback({ callbackContext }: PluginParams<'afterModelCallback'>) {
      count(callbackContext, 'answers');
      return undefined;
    }
    override async onToolCallCompleted({ call, callbackContext }: PluginParams<'onToolCallCompleted'>) {
      count(callbackContext, 'completed');
      await witness.saw(callbackContext.sessionId, 'completed', call.callKey);
    }
    override async afterRunCallback({ invocationContext }: PluginParams<'afterRunCallback'>) {
      await witness.saw(invocationContext.session.id, 'after run');
    }
  }

  const effect = tool({
    ...ONCE,
    name: 'effect',
    description: 'has an effect',
    execute: async (_args, context) => {
      await saw(context, 'effect');
      return { done: true };
    },
  });
  const pay = tool({
    ...ONCE,
    name: 'pay',
    description: 'pays, and must not pay twice',
    idempotent: false,
    execute: async (_args, context) => {
      await saw(context, 'pay');
      return { paid: true };
    },
  });
  const fail = tool({
    ...ONCE,
    name: 'fail',
    description: 'fails',
    execute: async (_args, context) => {
      await saw(context, 'fail');
      throw new TypeError('no such order');
    },
  });
  const stop = tool({
    ...ONCE,
    name: 'stop',
    description: 'ends the turn',
    execute: async (_args, context) => {
      await saw(context, 'stop');
      context.actions.skipSummarization = true;
      return { stopped: true };
    },
  });
  const stream = tool({
    ...ONCE,
    name: 'stream',
    description: 'yields what it finds',
    execute: async function* (_args, context) {
      yield `${context.attempt}a `;
      await saw(context, 'chunk');
      yield `${context.attempt}b`;
    },
  });

  class Sandbox extends BaseCodeExecutor {
    override async executeCode({ invocationContext }: ExecuteCodeParams): Promise<CodeExecutionResult> {
      await witness.saw(invocationContext.session.id, 'code');
      return { stdout: '42', stderr: '', outputFiles: [] };
    }
  }

  const watched = new LlmAgent({
    name: 'watched',
    model: MODEL,
    modelRetry: { maximumAttempts: 1 },
    tools: [effect, pay, fail, stop, stream],
    beforeAgentCallback: (context) => callback(context, 'before agent'),
    afterAgentCallback: (context) => callback(context, 'after agent'),
    beforeModelCallback: async ({ context, request }) => {
      const isMissing = request.tools?.has('query_42') === false;
      if (isMissing && context.userContent?.parts?.[0]?.text?.startsWith('add|')) {
        request.tools?.add('query', { id: 42 });
        await witness.saw(context.sessionId, 'added');
      }
      return await callback(context, 'before model');
    },
    afterModelCallback: ({ context }) => callback(context, 'after model'),
    onModelErrorCallback: async ({ context }) => {
      await callback(context, 'model error');
      return { content: { role: 'model', parts: [{ text: 'the model is down' }] } };
    },
    beforeToolCallback: ({ context }) => callback(context, 'before tool'),
    afterToolCallback: ({ context }) => callback(context, 'after tool'),
    onToolErrorCallback: ({ context }) => callback(context, 'tool error'),
  });
  return [
    new App({
      name: 'watched',
      rootAgent: watched,
      plugins: [new Watch('watch')],
      durable: {
        toolFactories: {
          query: ({ id }) =>
            tool({
              ...ONCE,
              name: `query_${id}`,
              description: 'asks for one order',
              execute: async (_args, context) => {
                await saw(context, 'query');
                return { order: id };
              },
            }),
        },
      },
    }),
    new App({
      name: 'reflecting',
      rootAgent: new LlmAgent({ name: 'reflecting', model: MODEL, tools: [fail] }),
      plugins: [new ReflectAndRetryToolPlugin()],
    }),
    new App({
      name: 'coding',
      rootAgent: new LlmAgent({ name: 'coding', model: MODEL, codeExecutor: new Sandbox() }),
    }),
  ];
}
