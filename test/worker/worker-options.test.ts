import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NativeConnection, WorkerPlugin } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import { DefinitionError } from '../../src/schema/definition-error.ts';
import type { Store } from '../../src/store/store.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { createWorker, type WorkerOptions } from '../../worker/create-worker.ts';
import { jsonLogger } from '../../worker/json-logger.ts';
import { AesCodec } from '../setup/aes-codec.ts';
import { textOf } from '../setup/history-facts.ts';
import { OwnModel } from '../setup/own-model.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

describe('createWorker refuses what prebuilt workflows can not have, and says what to do [worker.options]', () => {
  const unused = { store: {} as Store, connection: {} as NativeConnection };
  const agents = [new LlmAgent({ name: 'a', model: 'gemini-2.5-flash' })];

  test.each<[string, object, string]>([
    [
      'a payload converter',
      { dataConverter: { payloadConverterPath: '/converter.js' } },
      'dataConverter.payloadConverterPath: the workflows are prebuilt and can have no converter of yours; use payloadCodecs',
    ],
    [
      'workflow interceptors',
      { interceptors: { workflowModules: ['/interceptors.js'] } },
      'interceptors.workflowModules: the workflows are prebuilt and can have no interceptors; use those of activities',
    ],
    ['plugins that are no list', { plugins: {} }, 'plugins: expected a list of plugins'],
    [
      'a logger that is none',
      { logger: { warn: () => undefined } },
      'logger.debug: expected a function of a message and its attributes',
    ],
    ['an option of none of both', { workflowPath: 'x' }, 'workflowPath: unknown option'],
    ['a mistyped option', { taskQueu: 'x' }, 'taskQueu: unknown option; did you mean "taskQueue"?'],
  ])('%s', async (_what, options, problem) => {
    const refused = createWorker({ ...unused, agents, ...options } as WorkerOptions);
    await expect(refused).rejects.toThrow(DefinitionError);
    await expect(refused).rejects.toThrow(`createWorker: ${problem}`);
  });

  test('a payload converter that a plugin brings', async () => {
    const plugin: WorkerPlugin = {
      name: 'converting',
      configureWorker: (options) => ({
        ...options,
        dataConverter: { payloadConverterPath: '/converter.js' },
      }),
    };
    await expect(createWorker({ ...unused, agents, plugins: [plugin] })).rejects.toThrow(
      'createWorker: dataConverter.payloadConverterPath: the workflows are prebuilt',
    );
  });
});

describe('the default logger [worker.logs]', () => {
  function written(log: (logger: ReturnType<typeof jsonLogger>) => void, level?: 'debug' | 'error') {
    const lines: string[] = [];
    log(jsonLogger({ write: (line) => lines.push(line), ...(level ? { level } : {}) }));
    return lines.map((line) => {
      expect(line.endsWith('\n')).toBe(true);
      expect(line.trimEnd()).not.toContain('\n');
      return JSON.parse(line);
    });
  }

  test('one JSON object per line: time, level, message, attributes', () => {
    const [line] = written((logger) => logger.warn('it\nfailed', { app: 'shop', callKey: 'e-1.1.0' }));
    expect(line).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: 'warn',
      message: 'it\nfailed',
      app: 'shop',
      callKey: 'e-1.1.0',
    });
    expect(Object.keys(line)).toEqual(['time', 'level', 'message', 'app', 'callKey']);
  });

  test('lower levels are left out', () => {
    const all = (logger: ReturnType<typeof jsonLogger>) =>
      (['debug', 'info', 'warn', 'error'] as const).map((level) => logger[level]('x'));
    expect(written(all).map(({ level }) => level)).toEqual(['info', 'warn', 'error']);
    expect(written(all, 'debug').map(({ level }) => level)).toEqual(['debug', 'info', 'warn', 'error']);
    expect(written(all, 'error').map(({ level }) => level)).toEqual(['error']);
  });

  test('attributes that JSON lacks, or that are named like the line’s own fields, spoil no line', () => {
    const cycle: Record<string, unknown> = {};
    cycle.cycle = cycle;
    const lines = written((logger) => {
      logger.info('a', { error: new Error('boom'), size: 1n });
      logger.info('b', cycle);
      logger.info('c', { level: 'none', message: 'other', time: 0 });
    });
    expect(lines).toMatchObject([
      { message: 'a', error: expect.stringContaining('Error: boom'), size: '1' },
      { message: 'b', attributes: ['cycle'] },
      { message: 'c', level: 'info' },
    ]);
  });
});

const SECRET = '4711-0815-geheim';
const PARTS = ['argument', 'result', 'error', 'message', 'model'].map((part) => `${SECRET} ${part}`);
const [ARGUMENT, RESULT, ERROR, MESSAGE, MODEL] = PARTS;
const retry = { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 };

function secretive() {
  const parameters = { type: 'object', properties: { pin: { type: 'string' } } } as const;
  const told = (['activity', 'inline'] as const).flatMap((execution) => [
    tool({
      name: `tells_${execution}`,
      description: 'says secrets',
      parameters,
      execution,
      execute: () => ({ account: RESULT }),
    }),
    tool({
      name: `fails_${execution}`,
      description: 'fails',
      parameters,
      execution,
      retry,
      execute: () => {
        throw new TypeError(ERROR, { cause: new Error(ERROR) });
      },
    }),
  ]);
  const failing = new OwnModel(async () => {
    throw new ModelError({ kind: 'unavailable', message: MODEL ?? '' });
  });
  return [
    new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: told }),
    new LlmAgent({ name: 'broken', model: failing, modelRetry: retry }),
  ];
}

/** The file of the server's database, with what isn't in it yet, and the server's log. */
function serverFiles(folder: string): Buffer[] {
  const names = readdirSync(folder).filter((name) => name.startsWith('temporal.'));
  expect(names).toContain('temporal.db');
  expect(names).toContain('temporal.log');
  return names.map((name) => readFileSync(join(folder, name)));
}

const codec = new AesCodec();
const codecPlugin: WorkerPlugin = {
  name: 'encrypting',
  configureWorker: (options) => ({ ...options, dataConverter: { payloadCodecs: [codec] } }),
};

describe('with a codec that a plugin brings to the worker', () => {
  const logged: string[] = [];
  const log = (message: string, attributes?: object) =>
    logged.push(`${message} ${JSON.stringify(attributes)}`);
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: secretive(),
      // Its files are read.
      serverConfig: [],
      logger: { debug: log, info: log, warn: log, error: log },
      dataConverter: { payloadCodecs: [codec] },
      workerOptions: { dataConverter: {}, plugins: [codecPlugin] },
    });
  });
  afterAll(() => environment.close());

  test('no secret is in histories, database and logs; the store has them all [worker.codec]', async () => {
    const names = ['tells_activity', 'tells_inline', 'fails_activity', 'fails_inline'];
    environment.gemini.reset(stepCalls([names.map((name) => ({ name, args: { pin: ARGUMENT } }))], RESULT));
    const answered = await environment.run({ message: MESSAGE ?? '', sessionId: 'answered' });
    expect(answered.result).toMatchObject({ status: 'completed', text: RESULT });
    const responses = answered.events.flatMap(({ event }) => getFunctionResponses(event));
    expect(responses.map(({ response }) => response)).toEqual([
      { account: RESULT },
      { account: RESULT },
      { error: expect.stringContaining(ERROR ?? '') },
      { error: expect.stringContaining(ERROR ?? '') },
    ]);

    const failed = await environment.run({ message: MESSAGE ?? '', agent: 'broken', sessionId: 'failed' });
    expect(failed.result).toMatchObject({
      status: 'failed',
      error: { code: 'HOLDFAST_MODEL_UNAVAILABLE', message: expect.stringContaining(MODEL ?? '') },
    });

    for (const { history } of [answered, failed]) {
      expect(textOf(history)).toContain('holdfast.callModel');
      expect(textOf(history)).not.toContain(SECRET);
    }
    expect(logged.join('\n')).toContain('tool fails_activity failed');
    expect(logged.join('\n')).toContain('HOLDFAST_MODEL_UNAVAILABLE');
    expect(logged.join('\n')).not.toContain(SECRET);
    const files = serverFiles(environment.folder);
    expect(files.some((bytes) => bytes.includes('test/ada/answered'))).toBe(true);
    for (const bytes of files) expect(bytes.includes(SECRET)).toBe(false);
  });

  test('an unexpected error is told without its text, which may quote anything [worker.codec]', async () => {
    logged.length = 0;
    vi.spyOn(environment.store.turns, 'openStep').mockImplementationOnce(() => {
      throw new TypeError(`can't read ${SECRET}\n    at ${SECRET}`);
    });
    environment.gemini.reset(stepCalls([]));
    const { result, history } = await environment.run({ message: 'go' });
    expect(result.status).toBe('completed');
    const lines = logged.filter((line) => line.startsWith('unexpected error'));
    expect(lines).toEqual([expect.stringMatching(/"error":"TypeError".*worker-options\.test\.ts\S*:\d+/)]);
    expect(logged.join('\n')).not.toContain(SECRET);
    expect(textOf(history)).not.toContain(SECRET);
  });

  test('a failed attempt tells its message to those only who have the codec [worker.codec]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'fails_activity' }]]));
    const { history } = await environment.run({ message: 'go' });
    const failures = (history.events ?? []).flatMap(
      ({ activityTaskStartedEventAttributes: started }) => started?.lastFailure ?? [],
    );
    expect(failures).toMatchObject([{ message: 'Encoded failure' }]);
    const [payload] = await codec.decode([failures[0]?.encodedAttributes ?? {}]);
    expect(JSON.parse(Buffer.from(payload?.data ?? []).toString())).toMatchObject({
      message: "Error in tool 'fails_activity'",
    });
  });
});

describe('a worker that is given what Temporal takes', () => {
  const lines: { level: string; message: string; attributes: Record<string, unknown> }[] = [];
  const seen: string[] = [];
  const to =
    (level: string) =>
    (message: string, attributes: Record<string, unknown> = {}) =>
      void lines.push({ level, message, attributes });
  const plugin: WorkerPlugin = {
    name: 'noting',
    configureWorker: (options) => {
      seen.push('configured');
      return options;
    },
    runWorker: (worker, next) => {
      seen.push('run');
      return next(worker);
    },
  };
  const fails = tool({
    name: 'fails',
    description: 'fails',
    retry,
    execute: () => {
      throw new Error('out of paper');
    },
  });
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [fails] })],
      logger: { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') },
      workerOptions: {
        identity: 'worker-of-the-test',
        plugins: [plugin],
        tuner: {
          workflowTaskSlotSupplier: { type: 'fixed-size', numSlots: 10 },
          activityTaskSlotSupplier: { type: 'fixed-size', numSlots: 10 },
          localActivityTaskSlotSupplier: { type: 'fixed-size', numSlots: 10 },
          nexusTaskSlotSupplier: { type: 'fixed-size', numSlots: 10 },
        },
        interceptors: {
          activity: [
            ({ info }) => ({
              inbound: {
                execute: (input, next) => {
                  seen.push(info.activityType);
                  return next(input);
                },
              },
            }),
          ],
        },
      },
    });
  });
  afterAll(() => environment?.close());

  test('passes interceptors, plugins, tuner and identity through [worker.options]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'fails' }]]));
    const { result, history } = await environment.run({ message: 'go' });
    expect(result.status).toBe('completed');
    expect(seen).toEqual(
      expect.arrayContaining(['configured', 'run', 'holdfast.callModel', 'fails', 'holdfast.callModel']),
    );
    const identities = (history.events ?? []).map(
      ({ activityTaskCompletedEventAttributes: completed }) => completed?.identity,
    );
    expect(identities).toContain('worker-of-the-test');
  });

  test('says what failed where, without users and content [worker.logs]', async () => {
    lines.length = 0;
    environment.gemini.reset(stepCalls([[{ name: 'fails', args: {} }]]));
    const { result } = await environment.run({ message: 'print it', sessionId: 's1', userId: 'mrs-miller' });
    const failed = lines.filter(({ attributes }) => attributes.tool === 'fails');
    expect(failed).toHaveLength(2);
    expect(failed[0]).toMatchObject({
      level: 'warn',
      attributes: {
        app: 'test',
        session: 's1',
        invocation: result.invocationId,
        callKey: `${result.invocationId}.1.0`,
        agent: 'support',
        attempt: 1,
      },
    });
    const own = lines.filter(({ attributes }) => Object.keys(attributes).length > 0);
    expect(JSON.stringify(own)).not.toContain('mrs-miller');
    expect(JSON.stringify(own)).not.toContain('print it');
  });

  test('says where its own code failed, since the history gets no stack [worker.logs]', async () => {
    lines.length = 0;
    vi.spyOn(environment.store.turns, 'openStep').mockImplementationOnce(() => {
      throw new TypeError('a bug');
    });
    environment.gemini.reset(stepCalls([]));
    const { result, history } = await environment.run({ message: 'go', sessionId: 's2' });
    expect(result.status).toBe('completed');
    expect(textOf(history)).toContain('a bug');
    expect(textOf(history)).not.toContain('worker-options.test.ts');
    const unexpected = lines.filter(({ message }) => message === 'unexpected error');
    expect(unexpected).toMatchObject([
      {
        level: 'error',
        attributes: {
          app: 'test',
          session: 's2',
          invocation: result.invocationId,
          step: 1,
          attempt: 1,
          error: 'TypeError',
          stack: expect.stringMatching(/^TypeError: a bug\n {4}at .*worker-options\.test\.ts\S*:\d+/),
        },
      },
    ]);
  });

  test('says when it is ready, told to stop, and drained [worker.logs]', async () => {
    const ofWorker = () => lines.filter(({ message }) => message.startsWith('worker '));
    lines.length = 0;
    await environment.restartWorker();
    expect(ofWorker().map(({ message }) => message)).toEqual([
      'worker shutdown begun',
      'worker drained',
      'worker ready',
    ]);
    expect(ofWorker()[0]).toEqual({
      level: 'info',
      message: 'worker shutdown begun',
      attributes: {
        taskQueue: 'holdfast',
        namespace: environment.place.namespace,
        agents: ['support'],
        apps: [],
        identity: 'worker-of-the-test',
      },
    });
  });
});

if (isDeep) {
  test('a logger that throws fails no turn [worker.logs]', async () => {
    const warnings: unknown[] = [];
    const heard = (warning: Error) => warnings.push(warning.message);
    process.on('warning', heard);
    const broken = () => {
      throw new Error('the logger is broken');
    };
    const fails = tool({
      name: 'fails',
      description: 'fails',
      retry,
      execute: () => {
        throw new Error('out of paper');
      },
    });
    const environment = await openTurnEnvironment({
      agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [fails] })],
      workerOptions: { logger: { debug: broken, info: broken, warn: broken, error: broken } },
    });
    try {
      environment.gemini.reset(stepCalls([[{ name: 'fails' }]]));
      const { result } = await environment.run({ message: 'go' });
      expect(result).toMatchObject({ status: 'completed', text: 'done' });
      expect(warnings.filter((warning) => warning === 'the logger is broken')).toHaveLength(1);
    } finally {
      process.off('warning', heard);
      await environment.close();
    }
  });
}
