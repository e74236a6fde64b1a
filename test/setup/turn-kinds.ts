import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { call, error, text } from '../../src/testing/gemini-reply.ts';
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

export const turnKindAgents = [
  new LlmAgent({
    name: 'kinds',
    model: 'gemini-2.5-flash',
    tools: [add, alone, local, fails, ends, large, never],
    modelRetry: { initialInterval: 1, maximumInterval: 2 },
  }),
];

interface TurnKind {
  script: GeminiScript;
  runConfig?: { maxLlmCalls?: number };
  /** Drives the turn where it doesn't simply run to its end; resolves when the workflow has closed. */
  drive?: (
    environment: TurnEnvironment,
    names: { app: string; userId: string; sessionId: string },
  ) => Promise<void>;
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
      await (await client.startTurn(turn)).result();
      await (await client.startTurn(turn)).result();
    },
  },
  cancelled: {
    script: stepCalls([[{ name: 'never' }, sum(1)]]),
    async drive({ client, temporal, store }, names) {
      const handle = await client.startTurn({ ...names, message: 'go' });
      const running = Promise.withResolvers<void>();
      const stop = store.onNotice((notice) => {
        if (notice.type === 'call started' && notice.tool === 'never') running.resolve();
      });
      await running.promise;
      stop();
      await temporal.workflow.getHandle(handle.workflowId).cancel();
      await handle.result().catch(() => undefined);
    },
  },
};
