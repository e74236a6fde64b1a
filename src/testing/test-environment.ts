import type { Client } from '@temporalio/client';
import type { WorkerOptions } from '../../worker/index.ts';
import type { BaseAgent } from '../agents/base-agent.ts';
import type { App } from '../app/app.ts';
import type { HoldfastClient } from '../client/holdfast-client.ts';
import type { OutgoingMessage } from '../client/messages/outgoing-message.ts';
import type { TurnHandle } from '../client/turns/turn-handle.ts';
import type { GatewaySettings } from '../gateway/gateway-settings.ts';
import type { Store } from '../store/store.ts';
import type { GeminiScript } from './gemini-script.ts';
import type { MockGemini } from './mock-gemini.ts';
import type { TestJobs } from './test-jobs.ts';
import type { TestRequests } from './test-requests.ts';
import type { TestTurn } from './test-turn.ts';

/** Options of {@link createTestEnvironment}: at least one agent, here or in an app. */
export interface TestEnvironmentOptions {
  /** As for `createWorker`. */
  agents?: readonly BaseAgent[];
  /** As for `createWorker`; turns belong to the first of them where they name no app. */
  apps?: readonly App[];
  /**
   * Answers of the model; `env.gemini.reset(script)` sets another script for the next test. Defaults to one that calls the first
   * tool once, with made-up arguments, and says what came back.
   */
  script?: GeminiScript;
  /** More options of the worker, such as `tracing` or `logger`. Its warnings go to standard error by default. */
  worker?: Omit<
    Partial<WorkerOptions>,
    'agents' | 'apps' | 'store' | 'connection' | 'namespace' | 'taskQueue'
  >;
  /** Settings of {@link defineGateway}, for the gateway of this environment. */
  gateway?: GatewaySettings;
  /**
   * Folder of server, store and worker. Without one they are removed at the end.
   *
   * @default a new folder for temporary files
   */
  folder?: string;
  /** Told of work that takes seconds, such as the first start of a server. Defaults to standard error. */
  onProgress?: (line: string) => void;
}

/** A message to `run` or `send`; names that are left out are made up: the user is `user`, each session a new one. */
export type TestMessage = string | (Partial<OutgoingMessage> & Pick<OutgoingMessage, 'message'>);

/** A Temporal server, a store, the mock Gemini server and a worker, all real, in this process. */
export interface TestEnvironment extends AsyncDisposable, TestRequests, TestJobs {
  readonly client: HoldfastClient;
  readonly store: Store;
  /** The model: its requests, refusals and script. */
  readonly gemini: MockGemini;
  /** A client of the Temporal server, for histories, queries and signals. */
  readonly temporal: Client;
  /** Of the Temporal UI, where its run can be looked at while the test stands still. */
  readonly uiUrl: string | undefined;
  /** The HTTP gateway on this machine, and the token that it wants; `context.job.callbackUrl` of tools leads to it. */
  readonly gateway: { readonly url: string; readonly token: string };
  /**
   * Sends a message and waits for its turn's end.
   *
   * @throws what `TurnHandle.result` throws; a failed turn is a result.
   */
  run(message: TestMessage): Promise<TestTurn>;
  /** Sends a message. */
  send(message: TestMessage): Promise<TurnHandle>;
  /** The outcome of a sent turn. */
  turnOf(handle: TurnHandle): Promise<TestTurn>;
  /**
   * Stops the worker in the middle of what it does and starts another, as a deploy does: running model calls and tools are tried
   * again.
   */
  restartWorker(): Promise<void>;
  /** Stops the worker; messages are kept until {@link restartWorker}. */
  stopWorker(): Promise<void>;
  close(): Promise<void>;
}
