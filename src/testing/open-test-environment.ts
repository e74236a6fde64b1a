import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import { deploy } from '../../worker/deploy.ts';
import {
  acquireFolder,
  cacheFolder,
  createWorker,
  openLocalGateway,
  openTemporal,
} from '../../worker/index.ts';
import { ownVersion } from '../cli/own-version.ts';
import { HoldfastClient } from '../client/holdfast-client.ts';
import type { TurnHandle } from '../client/turn-handle.ts';
import { readiness } from '../gateway/readiness.ts';
import { DEFAULT_TASK_QUEUE } from '../protocol/names.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { openStore } from '../store/open-store.ts';
import { demoScript } from './gemini-demo-script.ts';
import { startGeminiStandIn } from './gemini-stand-in.ts';
import type { TestEnvironment, TestEnvironmentOptions, TestMessage } from './test-environment.ts';
import { callsOf, finalTextOf, type TestTurn } from './test-turn.ts';

const FIELDS = [
  'agents',
  'apps',
  'script',
  'worker',
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
  quietRuntime();
  const ends: (() => Promise<unknown> | unknown)[] = [];
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const ownership = acquireFolder(options.folder ?? mkdtempSync(join(tmpdir(), 'holdfast-test-')));
    const { folder } = ownership;
    if (options.folder === undefined) ends.push(() => rmSync(folder, { recursive: true, force: true }));
    ends.push(() => ownership.release());
    const gemini = await startGeminiStandIn({ script });
    ends.push(() => gemini.close(), withVariables(gemini.env));
    const template = join(cacheFolder(process.env), 'stores');
    const [server, store] = await all(
      openTemporal({ folder, onProgress: progress.tell }),
      openStore({ folder, template, onProgress: progress.tell }),
    );
    ends.push(
      () => server.stop?.(),
      () => store.close(),
    );
    progress.end();
    const connection = await Connection.connect(server.connectionOptions);
    ends.push(() => connection.close());
    const native = await NativeConnection.connect(server.connectionOptions);
    ends.push(() => native.close());
    const { namespace } = server;
    const searchAttributes = server.searchAttributes === 'registered';
    const start = async () => {
      const worker = await createWorker({
        agents,
        apps,
        store,
        connection: native,
        namespace,
        searchAttributes,
        logger: WARNINGS,
        shutdownGraceTime: 0,
        ...options.worker,
      });
      return { worker, ended: worker.run() };
    };
    let current: Awaited<ReturnType<typeof start>> | undefined = await start();
    const stopWorker = async () => {
      current?.worker.shutdown();
      await current?.ended;
      current = undefined;
    };
    ends.push(stopWorker);
    const { dataConverter } = options.worker ?? {};
    const temporal = new Client({
      connection,
      namespace,
      ...(dataConverter === undefined ? {} : { dataConverter }),
    });
    const client = new HoldfastClient({ temporal, store, searchAttributes });
    const gateway = await openLocalGateway({
      ownership,
      client,
      about: () => ({
        v: 1,
        version: ownVersion(),
        namespace,
        taskQueue: DEFAULT_TASK_QUEUE,
        ...(server.uiUrl === undefined ? {} : { uiUrl: server.uiUrl }),
        store: 'embedded',
        apps: apps.map(({ name }) => name),
        agents: [...new Set([...agents, ...apps.map(({ rootAgent }) => rootAgent)])].map(({ name }) => name),
      }),
      ready: readiness({
        temporal: () => temporal.workflowService.getSystemInfo({}),
        store: () => store.findSession(NOBODY),
      }),
    });
    ends.push(() => gateway.close());

    const app = apps[0]?.name ?? 'test';
    const sent = new WeakMap<TurnHandle, { app: string; userId: string; sessionId: string }>();
    const send = async (given: TestMessage): Promise<TurnHandle> => {
      const message = typeof given === 'string' ? { message: given } : given;
      const names = {
        app: message.app ?? app,
        userId: message.userId ?? 'user',
        sessionId: message.sessionId ?? randomUUID(),
      };
      const handle = await client.sendMessage({ ...message, ...names });
      sent.set(handle, names);
      return handle;
    };
    const turnOf = async (handle: TurnHandle): Promise<TestTurn> => {
      const names = sent.get(handle);
      if (names === undefined) throw new Error('turnOf: expected a handle that this environment’s send gave');
      const result = await handle.result();
      const { invocationId, status, error, usage } = result;
      const events = (await store.readEvents({ ...names, limit: Number.MAX_SAFE_INTEGER })).filter(
        ({ event }) => event.invocationId === invocationId,
      );
      const { messageId, workflowId } = handle;
      const calls = callsOf(events);
      const text = status === 'completed' ? finalTextOf(events) : '';
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
      client,
      store,
      gemini,
      temporal,
      uiUrl: server.uiUrl,
      gateway: { url: gateway.url, token: gateway.token },
      send,
      turnOf,
      run: async (message) => await turnOf(await send(message)),
      stopWorker,
      async restartWorker() {
        await stopWorker();
        current = await start();
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    progress.end();
    await close();
    throw error;
  }
}

/** Names no session: asking for it shows that the store answers. */
const NOBODY = { app: '-', userId: '-', sessionId: '-' };

/** Milliseconds: a start of which everything is at hand takes less. */
const QUIET_FOR = 5_000;

const untold = () => undefined;

/** The SDK's own shutdown and retry notes would drown a test's output. */
const WARNINGS = {
  debug: untold,
  info: untold,
  warn: (message: string) => toStandardError(message),
  error: (message: string) => toStandardError(message),
};

function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Tells nothing of what is quick; of what isn't, all. */
function slowProgress(tell: (line: string) => void, quietFor: number) {
  const held: string[] = [];
  const began = Date.now();
  const timer = setTimeout(() => held.splice(0).forEach(tell), quietFor);
  return {
    tell: (line: string) => void (Date.now() - began < quietFor ? held.push(line) : tell(line)),
    end: () => clearTimeout(timer),
  };
}

function quietRuntime(): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
    });
  } catch (error) {
    // The program has installed one of its own, or another environment has.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

/** Sets variables of the environment until the returned function is called. */
function withVariables(variables: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

/** Waits for both, so that nothing is still being opened when the first failure is reported. */
async function all<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([one, other]);
  if (first.status === 'rejected') throw first.reason;
  if (second.status === 'rejected') throw second.reason;
  return [first.value, second.value];
}
