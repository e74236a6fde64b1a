import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { WorkerOptions } from '../../worker/create-worker.ts';
import { WatchedWorker } from '../../worker/watched-worker.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';

/** First characters of the base64url SHA-256 of the SDK's files that the workflow thread rests on. */
const READ = {
  'worker/lib/worker': 'Ir4LND6ZcJOBjONhdjgUu_',
  'worker/lib/workflow/reusable-vm': 'H27H00fe5LSPyMoUocPdft',
  'worker/lib/workflow/threaded-vm': 'wMdiQfPD4ls5_tOJMDU3AY',
  'worker/lib/workflow/vm-shared': '9SbrZviN1ESiPphikRtp21',
  'worker/lib/workflow/workflow-worker-thread': 'kGc9W3SqUf32bkQ1yPc9ig',
  'workflow/lib/internals': 'aFLKean1lV3v1OjtS9DPD6',
};

test('the SDK is the one that the workflow thread was made for [worker.thread]', () => {
  const { resolve } = createRequire(import.meta.url);
  const digests = Object.keys(READ).map((name) => {
    const code = readFileSync(resolve(`@temporalio/${name}.js`));
    return [name, createHash('sha256').update(code).digest('base64url').slice(0, 22)];
  });
  expect(
    Object.fromEntries(digests),
    'read what has changed in these files of the SDK against docs/decisions/049, then put their digests here',
  ).toEqual(READ);
});

const workerOptions: Partial<WorkerOptions> = {};
const warnings: string[] = [];
let environment: TurnEnvironment;

beforeAll(async () => {
  const pay = tool({ name: 'pay', description: 'pays', requireConfirmation: true, execute: () => ({}) });
  environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'payer', model: 'gemini-2.5-flash', tools: [pay] })],
    script: stepCalls([[{ name: 'pay' }]]),
    logger: { warn: (line) => void warnings.push(line) },
    workerOptions,
  });
});
afterAll(() => environment.close());

test('a worker has call stacks where it is told so, and says that it has none elsewhere [worker.thread]', async () => {
  const names = { app: 'test', userId: 'ada', sessionId: 'stacks' };
  const { workflowId } = await environment.client.sendMessage({ ...names, message: 'pay' });
  const turn = environment.temporal.workflow.getHandle(workflowId);
  const { waiting } = await until(async () => {
    const status = await turn.query<{ waiting: unknown[] }>('status');
    expect(status.waiting).toHaveLength(1);
    return status;
  });
  expect(waiting).toMatchObject([{ tool: 'pay' }]);
  await expect(turn.query('__stack_trace')).rejects.toThrow('stack traces are not enabled');
  workerOptions.stackTraces = true;
  await environment.restartWorker();
  expect(await turn.query('__stack_trace')).toMatch(/ at .*workflows\/\S+\.ts:\d+/);
});

describe('a worker whose workflows are faulty', () => {
  const taskQueue = `faulty-${randomUUID()}`;
  let worker: WatchedWorker;
  let running: Promise<void>;
  let connection: NativeConnection;

  beforeAll(async () => {
    const { address, namespace } = environment.place;
    connection = await NativeConnection.connect({ address });
    const workflowsPath = fileURLToPath(new URL('./faulty-workflows.ts', import.meta.url));
    worker = await WatchedWorker.create({
      ...{ connection, namespace, taskQueue },
      workflowBundle: await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') }),
      // An option that the SDK's types leave out.
      ...{ isolateExecutionTimeout: '1s' },
    });
    running = worker.run();
  });
  afterAll(async () => {
    worker.shutdown();
    await running;
    await connection.close();
  });

  async function begun(workflow: string) {
    const workflowId = `${workflow}-${randomUUID()}`;
    const handle = await environment.temporal.workflow.start(workflow, { workflowId, taskQueue });
    await until(async () => expect((await handle.describe()).historyLength).toBeGreaterThan(3));
    return handle;
  }

  /** The messages of its failed workflow tasks. */
  async function failuresOf(handle: Awaited<ReturnType<typeof begun>>): Promise<string[]> {
    const { events } = await handle.fetchHistory();
    return (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
      failed ? [String(failed.failure?.message)] : [],
    );
  }

  test('ends a task that never ends, and goes on with other workflows [worker.thread]', async () => {
    const waiting = await begun('waits');
    const looping = await begun('loops');
    await looping.signal('go');
    await until(async () =>
      expect(await failuresOf(looping)).toEqual([
        expect.stringContaining('a workflow task took longer than 1 s'),
      ]),
    );
    await looping.terminate();
    await waiting.signal('go');
    expect(await waiting.result()).toBe('gone on');
    await until(() =>
      expect(warnings).toContainEqual(expect.stringMatching(/^the signal has come .*waits-/s)),
    );
    const later = await begun('waits');
    await later.signal('go');
    expect(await later.result()).toBe('gone on');
    expect(worker.getState()).toBe('RUNNING');
  });

  test('fails the task of a rejection that nobody hears [worker.thread]', async () => {
    const handle = await begun('rejects');
    await until(async () =>
      expect(await failuresOf(handle)).toContainEqual(expect.stringContaining('nobody hears this')),
    );
    await handle.terminate();
  });
});
