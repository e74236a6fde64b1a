import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { SessionNames } from '../../src/store/store.ts';
import { call, error, hang, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/gemini-stand-in.ts';
import { tool } from '../../src/tools/tool.ts';
import { stepCalls } from './scripts.ts';
import type { TurnEnvironment } from './turn-environment.ts';

const add = tool({
  name: 'add',
  description: 'adds',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});
const alone = tool({ name: 'alone', description: 'runs alone', isConcurrencySafe: false, execute: () => 1 });
const local = tool({ name: 'local', description: 'runs locally', execution: 'local', execute: () => 1 });
const fails = tool({
  name: 'fails',
  description: 'fails',
  retry: { initialInterval: 1, maximumInterval: 2 },
  execute: () => {
    throw new Error('no luck');
  },
});
const ends = tool({
  name: 'ends',
  description: 'ends the turn',
  execute: (_args, context) => {
    if (context) context.actions.skipSummarization = true;
    return {};
  },
});
const large = tool({
  name: 'large',
  description: 'returns much',
  execute: () => ({ data: 'x'.repeat(20_000) }),
});
const never = tool({
  name: 'never',
  description: 'waits until it is cancelled',
  execute: (_args, context) =>
    new Promise((_resolve, reject) =>
      context?.abortSignal?.addEventListener('abort', () => reject(new Error('cancelled'))),
    ),
});
const secondTime = tool({
  name: 'second_time',
  description: 'waits until it is interrupted, and answers its second attempt',
  execute: (_args, context) =>
    context.attempt > 1
      ? { attempt: context.attempt }
      : new Promise((_resolve, reject) =>
          context.abortSignal?.addEventListener('abort', () => reject(new Error('interrupted'))),
        ),
});
const waitsTooLong = tool({
  name: 'waits_too_long',
  description: 'fails, and its next attempt would come too late',
  totalTimeout: '10s',
  timeout: '10s',
  retry: { initialInterval: '30s', maximumInterval: '30s' },
  execute: () => {
    throw new Error('no luck');
  },
});
const deaf = tool({
  name: 'deaf',
  description: 'never answers',
  timeout: '1s',
  totalTimeout: '1s',
  execute: () => new Promise(() => undefined),
});

/** New ones for each environment: an agent keeps the connection to the model that it has asked. */
export const turnKindAgents = () => [
  new LlmAgent({
    name: 'kinds',
    model: 'gemini-2.5-flash',
    tools: [add, alone, local, fails, ends, large, never, secondTime, waitsTooLong, deaf],
    modelRetry: { initialInterval: 1, maximumInterval: 2 },
  }),
];

export interface TurnKind {
  script: GeminiScript;
  runConfig?: { maxLlmCalls?: number };
  /** Of the server that the turn needs, where the others' doesn't do. */
  serverConfig?: readonly string[];
  /** Drives the turn where it doesn't simply run to its end; resolves when the workflow has closed. */
  drive?: (environment: TurnEnvironment, names: SessionNames) => Promise<void>;
  /** The run that is recorded, where it isn't the last. */
  recorded?: 'first';
}

const oftenNew = ['limit.historyCount.suggestContinueAsNew=20'];

/** Resolves when a call of the tool has started. */
async function callOf(tool: string, { store }: TurnEnvironment): Promise<void> {
  const started = Promise.withResolvers<void>();
  const stop = store.onNotice((notice) => {
    if (notice.type === 'call started' && notice.tool === tool) started.resolve();
  });
  await started.promise;
  stop();
}

const sum = (a: number) => ({ name: 'add', args: { a, b: 1 } });

/** One turn of each kind: what the workflow's histories look like. */
export const TURN_KINDS: Record<string, TurnKind> = {
  answer: { script: [text('hello')] },
  'calls-one-after-another': { script: stepCalls([[sum(1)], [sum(2)], [sum(3)]]) },
  'calls-in-parallel': { script: stepCalls([[sum(1), sum(2), sum(3)]]) },
  'calls-alone': { script: stepCalls([[sum(1), { name: 'alone' }, sum(2)]]) },
  'local-calls': { script: stepCalls([[{ name: 'local' }, sum(1), { name: 'local' }]]) },
  'large-result': { script: stepCalls([[{ name: 'large' }]]) },
  'failing-tool': { script: stepCalls([[{ name: 'fails' }]]) },
  'unknown-tool': { script: stepCalls([[{ name: 'missing' }]]) },
  'skip-summarization': { script: [call('ends')] },
  'max-llm-calls': { script: () => call('add', { a: 1, b: 1 }), runConfig: { maxLlmCalls: 1 } },
  'failing-model': { script: () => error(503, 'down') },
  'plain-start': {
    script: [text('hello')],
    async drive({ temporal }, names) {
      await temporal.workflow.execute('agentTurn', {
        workflowId: `${names.app}/${names.userId}/${names.sessionId}`,
        taskQueue: 'holdfast',
        args: [{ ...names, message: 'go' }],
      });
    },
  },
  'recorded-message': {
    script: [text('hello')],
    async drive({ client }, names) {
      const turn = { ...names, message: 'go', messageId: 'm' };
      await (await client.sendMessage(turn)).result();
      await (await client.sendMessage(turn)).result();
    },
  },
  cancelled: {
    script: stepCalls([[{ name: 'never' }, sum(1)]]),
    async drive(environment, names) {
      const { client, temporal } = environment;
      const running = callOf('never', environment);
      const handle = await client.sendMessage({ ...names, message: 'go' });
      await running;
      await temporal.workflow.getHandle(handle.workflowId).cancel();
      await handle.result().catch(() => undefined);
    },
  },
  'cancelled-in-first-step': {
    script: () => hang(),
    async drive({ client, temporal, gemini }, names) {
      const handle = await client.sendMessage({ ...names, message: 'go' });
      await gemini.waitForRequests(1);
      await temporal.workflow.getHandle(handle.workflowId).cancel();
      await handle.result().catch(() => undefined);
    },
  },
  'unsettled-calls': { script: stepCalls([[{ name: 'waits_too_long' }, { name: 'deaf' }, sum(1)]]) },
  'worker-shutdown': {
    script: stepCalls([[{ name: 'second_time' }]]),
    async drive(environment, names) {
      const running = callOf('second_time', environment);
      const handle = await environment.client.sendMessage({ ...names, message: 'go' });
      await running;
      await environment.restartWorker();
      await handle.result();
    },
  },
  'terminated-and-sent-again': {
    script: stepCalls([[{ name: 'second_time' }]]),
    async drive(environment, names) {
      const { client, temporal } = environment;
      const turn = { ...names, message: 'go', messageId: 'm' };
      const running = callOf('second_time', environment);
      const handle = await client.sendMessage(turn);
      await running;
      await temporal.workflow.getHandle(handle.workflowId).terminate();
      await (await client.sendMessage(turn)).result();
    },
  },
  'continues-as-new': {
    script: stepCalls([[sum(1)], [sum(2)], [sum(3)]]),
    serverConfig: oftenNew,
    recorded: 'first',
  },
  'continued-as-new': {
    script: stepCalls([[sum(1)], [sum(2)], [sum(3)]]),
    serverConfig: oftenNew,
  },
};
