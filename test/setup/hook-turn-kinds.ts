import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { BaseCodeExecutor, type CodeExecutionResult } from '../../src/code-executors/base-code-executor.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import type { PluginParams } from '../../src/plugins/plugin-failed.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, raw, text } from '../../src/testing/gemini-reply.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { stepCalls } from './scripts.ts';
import type { TurnEnvironment } from './turn-environment.ts';
import type { TurnKind } from './turn-kinds.ts';

class Watch extends BasePlugin {
  override async onUserMessageCallback({ userMessage }: PluginParams<'onUserMessageCallback'>) {
    return { ...userMessage, parts: [...(userMessage.parts ?? []), { text: 'heard' }] };
  }
  override async onEventCallback({ event }: PluginParams<'onEventCallback'>) {
    return { ...event, customMetadata: { seen: true } };
  }
  override async onToolCallCompleted({ callbackContext, call }: PluginParams<'onToolCallCompleted'>) {
    callbackContext.state.set('completed', call.name);
  }
}

class Sandbox extends BaseCodeExecutor {
  override async executeCode(): Promise<CodeExecutionResult> {
    return { stdout: '42', stderr: '', outputFiles: [] };
  }
}

const looks = tool({ name: 'looks', description: 'looks', execute: () => ({ found: true }) });
const asks = tool({ name: 'asks', description: 'is answered by the client', execute: () => ({}) });
const streams = tool({
  name: 'streams',
  description: 'yields until it is cancelled',
  execute: async function* (_args, { abortSignal }) {
    yield 'begun';
    yield await new Promise<string>((resolve) => {
      abortSignal.addEventListener('abort', () => resolve('cancelled'));
    });
  },
});

const model = 'gemini-2.5-flash';
const counted =
  (what: string) =>
  ({ state }: Context): undefined => {
    state.set(what, (state.get<number>(what) ?? 0) + 1);
  };

/** New ones for each environment: an agent keeps the connection to the model that it has asked. */
export const hookKindApps = () => [
  new App({
    name: 'hooked',
    plugins: [new Watch('watch')],
    rootAgent: new LlmAgent({
      name: 'hooked',
      model,
      tools: [looks, asks, streams],
      beforeAgentCallback: counted('begun'),
      afterAgentCallback: () => ({ role: 'model', parts: [{ text: 'that was all' }] }),
      beforeToolCallback: ({ context }) => counted('called')(context),
    }),
  }),
  new App({
    name: 'coding',
    rootAgent: new LlmAgent({ name: 'coding', model, codeExecutor: new Sandbox() }),
  }),
];

const code = raw({
  candidates: [
    {
      content: { role: 'model', parts: [{ executableCode: { code: 'print(42)', language: 'PYTHON' } }] },
      finishReason: 'STOP',
      index: 0,
    },
  ],
});

/** Turns with callbacks, plugins, streams, code and pauses. */
export const HOOK_TURN_KINDS: Record<string, TurnKind> = {
  'callbacks-and-plugins': { app: 'hooked', script: stepCalls([[{ name: 'looks' }], [{ name: 'missing' }]]) },
  'cancelled-stream': {
    app: 'hooked',
    script: stepCalls([[{ name: 'streams' }, { name: 'looks' }]]),
    async drive({ client, store, temporal }, names) {
      const streamed = Promise.withResolvers<string>();
      const stop = store.live.onNotice((notice) => {
        if (notice.type === 'tool chunk') streamed.resolve(notice.callKey);
      });
      const turn = await client.sendMessage({ ...names, message: 'go' });
      const callKey = await streamed.promise;
      stop();
      const handle = temporal.workflow.getHandle(turn.workflowId);
      const { running } = await handle.query<TurnStatus>('status');
      if (!running.some((each) => each.callKey === callKey)) throw new Error('the stream does not run');
      await handle.executeUpdate('cancelCall', { args: [{ callKey }] });
      await turn.result();
    },
  },
  code: { app: 'coding', script: [code, text('42')] },
  'paused-on-calls': {
    app: 'hooked',
    script: [call('asks', {}, { id: 'call-1' })],
    drive: pause,
  },
  'answered-calls': {
    app: 'hooked',
    script: [call('asks', {}, { id: 'call-1' }), text('thanks')],
    async drive(environment, names) {
      await pause(environment, names);
      const answer = { id: 'call-1', name: 'asks', response: { yes: true } };
      const message = { role: 'user', parts: [{ functionResponse: answer }] };
      await (await environment.client.sendMessage({ ...names, message })).result();
    },
  },
};

async function pause({ client }: TurnEnvironment, names: SessionNames): Promise<void> {
  const runConfig = { pauseOnToolCalls: true };
  await (await client.sendMessage({ ...names, message: 'go', runConfig })).result();
}
