import type { WorkflowHandle } from '@temporalio/client';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { FunctionResponse } from '../../src/events/content.ts';
import { getFunctionCalls } from '../../src/events/event.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, calls, error, hang, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { GATE_TURN_KINDS, gateKindApps } from './gate-turn-kinds.ts';
import { HOOK_TURN_KINDS, hookKindApps } from './hook-turn-kinds.ts';
import { JOB_TURN_KINDS, jobKindApps, until } from './job-turn-kinds.ts';
import { OWN_TURN_KINDS } from './own-turn-kinds.ts';
import { stepCalls } from './scripts.ts';
import { SHORT_RUNS } from './temporal-server.ts';
import { TREE_TURN_KINDS, treeKindApps } from './tree-turn-kinds.ts';
import type { TurnEnvironment } from './turn-environment.ts';

const add = tool({
  name: 'add',
  description: 'adds',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});
const alone = tool({ name: 'alone', description: 'runs alone', isConcurrencySafe: false, execute: () => 1 });
const inline = tool({
  name: 'inline',
  description: 'runs in its step',
  execution: 'inline',
  execute: () => 1,
});
const failing = (name: string, execution: 'activity' | 'inline') =>
  tool({
    name,
    description: 'fails',
    execution,
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
const never = (name: string, execution: 'activity' | 'inline') =>
  tool({
    name,
    description: 'waits until it is cancelled',
    execution,
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
const waitsTooLong = (name: string, execution: 'activity' | 'inline') =>
  tool({
    name,
    description: 'fails, and its next attempt would come too late',
    execution,
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
    tools: [
      add,
      alone,
      inline,
      failing('fails', 'activity'),
      failing('fails_inline', 'inline'),
      ends,
      large,
      never('never', 'activity'),
      never('never_inline', 'inline'),
      secondTime,
      waitsTooLong('waits_too_long', 'activity'),
      waitsTooLong('waits_too_long_inline', 'inline'),
      deaf,
    ],
    modelRetry: { initialInterval: 1, maximumInterval: 2 },
  }),
];

/** One whose turns may take a second, and those that turns of callbacks, plugins, code and requests need. */
export const turnKindApps = ([rootAgent]: ReturnType<typeof turnKindAgents>) =>
  rootAgent === undefined
    ? []
    : [
        // Recorded turns are of this app where they name none.
        new App({ name: 'histories', rootAgent }),
        new App({ name: 'in-a-hurry', rootAgent, durable: { budgets: { turn: { time: '1s' } } } }),
        new App({ name: 'remembering', rootAgent, durable: { memory: true } }),
        new App({ name: 'chained', rootAgent, durable: { steps: 'chain' } }),
        ...hookKindApps(),
        ...gateKindApps(),
        ...jobKindApps(),
        ...treeKindApps(),
      ];

export interface TurnKind {
  script: GeminiScript;
  /** Defaults to one without settings. */
  app?: string;
  runConfig?: { maxLlmCalls?: number };
  /** Of the server that the turn needs, where the others' doesn't do. */
  serverConfig?: readonly string[];
  /** Drives the turn where it doesn't simply run to its end; resolves when the workflow has closed. */
  drive?: (environment: TurnEnvironment, names: SessionNames) => Promise<void>;
  /** The run that is recorded, where it isn't the last. */
  recorded?: 'first';
  /** The workflow that is recorded, where it isn't the session's. */
  recordedWorkflow?: (names: SessionNames) => string;
}

const oftenNew = SHORT_RUNS;

/** Resolves when a call of the tool has started. */
async function callOf(tool: string, { store }: TurnEnvironment): Promise<void> {
  const started = Promise.withResolvers<void>();
  const stop = store.live.onNotice((notice) => {
    if (notice.type === 'call started' && notice.tool === tool) started.resolve();
  });
  await started.promise;
  stop();
}

const sum = (a: number) => ({ name: 'add', args: { a, b: 1 } });

/** "wait" is answered by calls of which one waits until it is cancelled, all else at once. */
const waiting: GeminiScript = ({ contents = [] }) => {
  const said = contents.at(-1)?.parts?.[0]?.text;
  return said === 'wait' ? calls([{ name: 'never' }, sum(1)]) : text('done');
};

/** Starts a turn that waits, and sends what is given while it does. */
async function whileWaiting(
  environment: TurnEnvironment,
  names: SessionNames,
  act: (handle: WorkflowHandle) => Promise<unknown>,
): Promise<void> {
  const running = callOf('never', environment);
  const turn = await environment.client.sendMessage({ ...names, message: 'wait' });
  await running;
  const handle = environment.temporal.workflow.getHandle(turn.workflowId);
  await act(handle);
  await handle.result().catch(() => undefined);
}

const message = (text: string, fields: object = {}) => ({ messageId: text, message: text, ...fields });

const TRACED = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };

const idOf = ({ app, userId, sessionId }: SessionNames) => `${app}/${userId}/${sessionId}`;

/** A turn of "go", with a message behind it from the beginning. */
async function goAndOneMore(
  { temporal }: TurnEnvironment,
  names: SessionNames,
  traced: { traceparent?: string } = {},
): Promise<void> {
  await temporal.workflow.signalWithStart('agentTurn', {
    workflowId: idOf(names),
    taskQueue: 'holdfast',
    args: [{ ...names, ...message('go', traced) }],
    signal: 'sendMessage',
    signalArgs: [message('more', traced)],
  });
  await temporal.workflow.getHandle(idOf(names)).result();
}

/** The workflow that adds the first message's session to the memory. */
function memoryOf({ app, userId, sessionId }: SessionNames): string {
  return `${app}/${userId}/${sessionId}/memory-${invocationIdOf(app, userId, sessionId, 'm1')}`;
}

/** One turn of each kind, for the workflow's histories. */
export const TURN_KINDS: Record<string, TurnKind> = {
  answer: { script: [text('hello')] },
  remembered: { script: [text('hello')], app: 'remembering' },
  'added-to-the-memory': {
    script: [text('hello')],
    app: 'remembering',
    async drive({ client, temporal }, names) {
      await (await client.sendMessage({ ...names, message: 'go', messageId: 'm1' })).result();
      await temporal.workflow.getHandle(memoryOf(names)).result();
    },
    recordedWorkflow: memoryOf,
  },
  'calls-one-after-another': { script: stepCalls([[sum(1)], [sum(2)], [sum(3)]]) },
  'calls-in-parallel': { script: stepCalls([[sum(1), sum(2), sum(3)]]) },
  'calls-alone': { script: stepCalls([[sum(1), { name: 'alone' }, sum(2)]]) },
  'inline-calls': { script: stepCalls([[{ name: 'inline' }, sum(1), { name: 'inline' }]]) },
  'inline-call-fails': { script: stepCalls([[{ name: 'fails_inline' }, { name: 'inline' }]]) },
  'inline-call-out-of-time': { script: stepCalls([[{ name: 'waits_too_long_inline' }]]) },
  'chained-steps': {
    script: stepCalls([
      [{ name: 'inline' }],
      [{ name: 'inline' }, { name: 'inline' }],
      [sum(1)],
      [{ name: 'inline' }],
    ]),
    app: 'chained',
  },
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
  'interrupted-in-first-step': {
    script: () => hang(),
    async drive({ client, gemini }, names) {
      const handle = await client.sendMessage({ ...names, message: 'go' });
      await gemini.waitForRequests(1);
      await client.interrupt(names);
      await handle.result();
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
  'gave-way': {
    script: waiting,
    async drive(environment, names) {
      await whileWaiting(environment, names, async (handle) => {
        for (const text of ['one', 'two'])
          await handle.executeUpdate('sendMessage', { args: [message(text)] });
        await handle.terminate();
      });
      const again = { ...names, message: 'two', messageId: 'two' };
      await (await environment.client.sendMessage(again)).result();
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
  'queued-message': { script: waiting, drive: goAndOneMore },
  'queue-continues-as-new': {
    script: stepCalls([[sum(1)], [sum(2)], [sum(3)]]),
    serverConfig: oftenNew,
    recorded: 'first',
    drive: goAndOneMore,
  },
  'queue-continued-as-new': {
    script: stepCalls([[sum(1)], [sum(2)], [sum(3)]]),
    serverConfig: oftenNew,
    drive: goAndOneMore,
  },
  'traced-turns-continued-as-new': {
    script: stepCalls([[sum(1)], [sum(2)], [sum(3)]]),
    serverConfig: oftenNew,
    drive: (environment, names) => goAndOneMore(environment, names, TRACED),
  },
  'message-by-signal': {
    script: waiting,
    async drive({ temporal }, names) {
      await temporal.workflow.signalWithStart('agentTurn', {
        workflowId: idOf(names),
        taskQueue: 'holdfast',
        args: [names],
        signal: 'sendMessage',
        signalArgs: [message('go')],
      });
      await temporal.workflow.getHandle(idOf(names)).result();
    },
  },
  'interrupted-by-message': {
    script: waiting,
    drive: (environment, names) =>
      whileWaiting(environment, names, (handle) =>
        handle.signal('sendMessage', message('now', { policy: 'interrupt' })),
      ),
  },
  'rejected-message': {
    script: waiting,
    drive: (environment, names) =>
      whileWaiting(environment, names, async (handle) => {
        await handle.signal('sendMessage', message('no', { policy: 'reject' }));
        await handle.executeUpdate('interrupt', { args: [{ reason: 'enough' }] });
      }),
  },
  'cancelled-call': {
    script: waiting,
    drive: (environment, names) =>
      whileWaiting(environment, names, async (handle) => {
        const { running } = await handle.query<TurnStatus>('status');
        const call = running.find(({ tool }) => tool === 'never');
        await handle.executeUpdate('cancelCall', { args: [{ callKey: call?.callKey }] });
      }),
  },
  'cancelled-inline-call': {
    script: stepCalls([[{ name: 'never_inline' }, { name: 'inline' }]]),
    async drive({ client, temporal }, names) {
      const turn = await client.sendMessage({ ...names, message: 'go' });
      const handle = temporal.workflow.getHandle(turn.workflowId);
      const callKey = await until(async () => {
        const { running } = await handle.query<TurnStatus>('status');
        return running.find(({ tool }) => tool === 'never_inline')?.callKey;
      });
      await handle.executeUpdate('cancelCall', { args: [{ callKey }] });
      await turn.result();
    },
  },
  'left-in-the-inbox': {
    script: waiting,
    async drive(environment, names) {
      await whileWaiting(environment, names, async (handle) => {
        await handle.executeUpdate('sendMessage', { args: [message('left')] });
        await handle.terminate();
      });
      await (await environment.client.sendMessage({ ...names, message: 'go' })).result();
    },
  },
  'stored-message': {
    script: waiting,
    async drive({ client }, names) {
      await (await client.sendMessage({ ...names, message: 'x'.repeat(100_000) })).result();
    },
  },
  'function-responses': {
    script: waiting,
    async drive({ client }, names) {
      const runConfig = { pauseOnToolCalls: true, customMetadata: { channel: 'chat' } };
      const paused = await client.sendMessage({ ...names, message: 'wait', runConfig });
      const asked: FunctionResponse[] = [];
      for await (const { event } of paused.events()) {
        for (const { id, name } of getFunctionCalls(event)) {
          asked.push({ ...(id ? { id } : {}), ...(name ? { name } : {}), response: { answered: true } });
        }
      }
      const parts = asked.map((functionResponse) => ({ functionResponse }));
      await (await client.sendMessage({ ...names, message: { role: 'user', parts } })).result();
    },
  },
  'message-too-large': {
    script: waiting,
    async drive({ temporal }, names) {
      const args = [{ ...names, ...message('x'.repeat(70_000)), messageId: 'm' }];
      const options = { workflowId: idOf(names), taskQueue: 'holdfast', args };
      await temporal.workflow.execute('agentTurn', options).catch(() => undefined);
    },
  },
  'retried-call': {
    script: stepCalls([[sum(1), sum(2)], [sum(3)]]),
    async drive({ client }, names) {
      const turn = await client.sendMessage({ ...names, message: 'go' });
      await turn.result();
      const again = await client.sessions.retry({ ...names, callKey: `${turn.invocationId}.1.1` });
      await again.result();
    },
  },
  'out-of-time': {
    script: waiting,
    app: 'in-a-hurry',
    drive: (environment, names) => whileWaiting(environment, names, async () => undefined),
  },
  ...HOOK_TURN_KINDS,
  ...GATE_TURN_KINDS,
  ...JOB_TURN_KINDS,
  ...TREE_TURN_KINDS,
  ...OWN_TURN_KINDS,
};
