import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TracingOptions, TurnSpanProcessor } from '../../activities/telemetry/tracing.ts';
import { Closing } from '../../worker/closing.ts';
import { createTestWorker } from '../../worker/create-worker.ts';
import { deploy } from '../../worker/deploy.ts';
import { endWithProcess } from '../../worker/embedded/end-with-process.ts';
import { slowProgress } from '../../worker/embedded/slow-progress.ts';
import { warningLogger } from '../../worker/embedded/warning-logger.ts';
import { openEnvironmentGateway } from '../../worker/environment/environment-gateway.ts';
import { QUIET_RUNTIME } from '../../worker/environment/install-runtime.ts';
import { openEnvironment } from '../../worker/environment/open-environment.ts';
import { type RunningWorker, startWorker } from '../../worker/environment/running-worker.ts';
import { acquireFolder } from '../../worker/folder/lock.ts';
import type { TurnHandle } from '../client/turns/turn-handle.ts';
import { folderCredentialKeys } from '../credentials/folder-credential-keys.ts';
import { withGeminiVariables } from '../models/gemini-exchange.ts';
import { defined } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { demoScript } from './gemini-demo-script.ts';
import { startMockGemini } from './mock-gemini.ts';
import type { TestEnvironment, TestEnvironmentOptions, TestMessage } from './test-environment.ts';
import { testJobs } from './test-jobs.ts';
import { testRequests } from './test-requests.ts';
import { callsOf, lastTextOf, type TestTurn } from './test-turn.ts';

const FIELDS = [
  'agents',
  'apps',
  'script',
  'worker',
  'gateway',
  'folder',
  'onProgress',
] satisfies (keyof TestEnvironmentOptions)[];

export async function openTestEnvironment(options: TestEnvironmentOptions): Promise<TestEnvironment> {
  const given: unknown = options;
  assertKnownFields('createTestEnvironment', given, FIELDS);
  const { agents = [], apps = [], script = demoScript, onProgress } = options;
  const progress = slowProgress(onProgress ?? toStandardError, onProgress === undefined ? QUIET_FOR : 0);
  // A wrong definition is told before anything is started for nothing.
  deploy({ agents, apps, rootAgent: options.worker?.rootAgent });
  checkWorkerOptions(options.worker);
  const closing = new Closing();
  const close = () => closing.close();
  try {
    const ownership = acquireFolder(options.folder ?? mkdtempSync(join(tmpdir(), 'holdfast-test-')));
    const { folder } = ownership;
    const remove = options.folder === undefined;
    if (remove) closing.add(() => rmSync(folder, { recursive: true, force: true }));
    closing.add(
      () => ownership.release(),
      () => progress.end(),
      endWithProcess(folder, { remove }),
    );
    const gemini = await startMockGemini({ script });
    closing.add(() => gemini.close(), holdVariables(gemini.env));
    const { tracing, ...more } = options.worker ?? {};
    const { dataConverter, credentialKeys = folderCredentialKeys(folder) } = more;
    const opening = openEnvironment({
      ...{ folder, credentialKeys, dataConverter, stopsServer: 'always' },
      onProgress: progress.tell,
    });
    const environment = await closing.of(opening, (opened) => opened.close());
    progress.end();
    const { server, store, temporal } = environment;
    const spans = tracing && spansOfAllWorkers(tracing);
    if (spans !== undefined) closing.add(() => spans.close());
    let gatewayUrl: string | undefined;
    const worker = new RestartedWorker(() =>
      withGeminiVariables(gemini.env, () =>
        startWorker(environment, {
          create: createTestWorker,
          runtime: QUIET_RUNTIME,
          agents,
          apps,
          logger: warningLogger(toStandardError),
          shutdownGraceTime: 0,
          publicUrl: () => options.gateway?.publicUrl ?? gatewayUrl,
          ...more,
          ...(spans === undefined ? {} : { tracing: spans.tracing }),
        }),
      ),
    );
    closing.add(() => worker.close());
    await worker.restart();
    const client = environment.client();
    const served = {
      apps: apps.map(({ name }) => name),
      agents: [...new Set([...agents, ...apps.map(({ rootAgent }) => rootAgent)])].map(({ name }) => name),
    };
    const gateway = await openEnvironmentGateway(environment, {
      ...{ ownership, client },
      served: () => served,
      ...defined({ settings: options.gateway }),
    });
    closing.add(() => gateway.close());
    gatewayUrl = gateway.url;

    const app = apps[0]?.name ?? 'test';
    /** By workflow id: a turn that is retried has another handle. */
    const sessions = new Map<string, SessionNames>();
    const send = async (given: TestMessage): Promise<TurnHandle> => {
      closing.assertOpen();
      const message = typeof given === 'string' ? { message: given } : given;
      const names = {
        app: message.app ?? app,
        userId: message.userId ?? 'user',
        sessionId: message.sessionId ?? randomUUID(),
      };
      const handle = await client.sendMessage({ ...message, ...names });
      sessions.set(handle.workflowId, names);
      return handle;
    };
    const sessionOf = ({ workflowId }: TurnHandle) => sessions.get(workflowId);
    const turnOf = async (handle: TurnHandle): Promise<TestTurn> => {
      const names = sessions.get(handle.workflowId);
      if (names === undefined) {
        throw new Error(
          'turnOf: expected a turn of a session that `run` or `send` of this environment began',
        );
      }
      const result = await handle.result();
      const { invocationId, status, error, usage } = result;
      const session = await store.sessions.readEvents({ ...names, limit: Number.MAX_SAFE_INTEGER });
      const events = session.filter(({ event }) => event.invocationId === invocationId);
      const { messageId, workflowId } = handle;
      const calls = callsOf(events, session);
      const text = typeof result.text === 'object' ? lastTextOf(events) : (result.text ?? '');
      return {
        ...names,
        messageId,
        invocationId,
        workflowId,
        status,
        text,
        error,
        usage,
        calls,
        events,
        result,
      };
    };
    return {
      ...testRequests({ client, store, temporal, sessionOf }),
      ...testJobs({ client, temporal, sessionOf }),
      client,
      store,
      gemini,
      temporal,
      uiUrl: server.uiUrl,
      gateway: { url: gateway.url, token: gateway.token },
      send,
      turnOf,
      run: async (message) => await turnOf(await send(message)),
      stopWorker: () => worker.stop(),
      restartWorker: () => worker.restart(),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    // Why it can't start says more than what can't be closed therefore.
    await close().catch(() => undefined);
    throw error;
  }
}

/** Milliseconds: a start of which everything is at hand takes less. */
const QUIET_FOR = 5_000;

function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** They are the environment's own: a worker elsewhere would leave every message unanswered. */
function checkWorkerOptions(worker: TestEnvironmentOptions['worker']): void {
  for (const field of ['agents', 'apps', 'store', 'connection', 'namespace', 'taskQueue']) {
    if (worker === undefined || !(field in worker)) continue;
    throw new DefinitionError({
      owner: 'createTestEnvironment',
      field: `worker.${field}`,
      problem: 'the environment sets it; leave it out',
    });
  }
}

type Variables = Readonly<Record<string, string>>;

/** Of those who have set some and are not done, in the order of their coming. */
const held: Variables[] = [];
const before = new Map<string, string | undefined>();

/**
 * Sets variables of the process until the returned function is called. The newest values count; when the last holder is done, in
 * any order, the process has its own again.
 */
export function holdVariables(variables: Variables): () => void {
  for (const name of Object.keys(variables)) {
    if (!before.has(name)) before.set(name, process.env[name]);
  }
  held.push(variables);
  Object.assign(process.env, variables);
  return () => {
    if (!held.includes(variables)) return;
    held.splice(held.indexOf(variables), 1);
    for (const name of Object.keys(variables)) {
      const holder = held.findLast((other) => Object.hasOwn(other, name));
      set(name, holder === undefined ? before.get(name) : holder[name]);
      if (holder === undefined) before.delete(name);
    }
  };
}

function set(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

/** One worker after another: orders wait for those before them. */
export class RestartedWorker {
  readonly #start: () => Promise<Pick<RunningWorker, 'close'>>;
  #current: Pick<RunningWorker, 'close'> | undefined;
  #orders: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(start: () => Promise<Pick<RunningWorker, 'close'>>) {
    this.#start = start;
  }

  /** Stops the worker that runs, if any, and starts another one. */
  restart(): Promise<void> {
    return this.#order(async () => {
      if (this.#closed) throw new Error('the test environment is closed: open another one');
      await this.#stop();
      this.#current = await this.#start();
    });
  }

  stop(): Promise<void> {
    return this.#order(() => this.#stop());
  }

  close(): Promise<void> {
    this.#closed = true;
    return this.stop();
  }

  #order(run: () => Promise<void>): Promise<void> {
    const done = this.#orders.then(run);
    this.#orders = done.catch(() => undefined);
    return done;
  }

  async #stop(): Promise<void> {
    const worker = this.#current;
    this.#current = undefined;
    await worker?.close();
  }
}

/** A worker shuts its span processors down when it ends; these get the spans of the next one too. */
function spansOfAllWorkers(given: TracingOptions): {
  tracing: TracingOptions;
  close: () => Promise<unknown>;
} {
  const { spanProcessors } = given;
  // The worker says what is wrong with them.
  if (!Array.isArray(spanProcessors) || !spanProcessors.every(isObject)) {
    return { tracing: given, close: async () => undefined };
  }
  return {
    tracing: { ...given, spanProcessors: spanProcessors.map(flushedOnly) },
    close: () => Promise.all(spanProcessors.map((processor) => processor.shutdown())),
  };
}

function flushedOnly(processor: TurnSpanProcessor): TurnSpanProcessor {
  return new Proxy(processor, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name === 'shutdown' ? 'forceFlush' : name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
