import { EventEmitter } from 'node:events';
import { Worker as Thread } from 'node:worker_threads';
import type { Logger, MetricMeter } from '@temporalio/common';
import { DefaultLogger, type LogLevel, type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { NativeWorkerLike } from '@temporalio/worker/lib/worker.js';
import type { CompiledWorkerOptions, WorkerPlugin } from '@temporalio/worker/lib/worker-options.js';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface.js';
import {
  ThreadedVMWorkflowCreator,
  WorkerThreadClient,
} from '@temporalio/worker/lib/workflow/threaded-vm.js';
import type {
  PatchActivationCallbackRequest,
  WorkerThreadInput,
  WorkerThreadRequest,
  WorkflowBundleWithSourceMapAndFilename,
} from '@temporalio/worker/lib/workflow/workflow-worker-thread/input.js';
import type { WorkerThreadResponse } from '@temporalio/worker/lib/workflow/workflow-worker-thread/output.js';
import { moduleFile } from '../src/own-files.ts';

/** Looks at a silent thread until it is given up. A main thread that stands still hears nothing, and looks once. */
const LOOKS = 5;

/** The answer about a run without log lines, and about one that the thread doesn't have. */
const NO_CALLS: WorkerThreadResponse['result'] = { type: 'ok', output: { type: 'sink-calls', calls: [] } };

/**
 * Temporal's worker with a workflow thread that is watched from outside. In the SDK's own thread each call into the workflows starts a
 * thread that would end an endless loop, and each promise takes a stack trace: most of the thread's time.
 */
export class WatchedWorker extends Worker {
  protected constructor(
    runtime: Runtime,
    native: NativeWorkerLike,
    creator: WorkflowCreator | undefined,
    options: CompiledWorkerOptions,
    logger: Logger,
    ...rest: [MetricMeter, WorkerPlugin[], NativeConnection?, boolean?]
  ) {
    super(runtime, native, creator, options, withoutDropped(logger), ...rest);
  }

  protected static override async createWorkflowCreator(
    workflowBundle: WorkflowBundleWithSourceMapAndFilename,
    options: CompiledWorkerOptions,
    logger: Logger,
  ): Promise<WorkflowCreator> {
    if (options.debugMode) return await Worker.createWorkflowCreator(workflowBundle, options, logger);
    const { isolateExecutionTimeoutMs: limit, patchActivationCallback } = options;
    const init = {
      type: 'init',
      workflowBundle,
      // Each call with a limit starts a thread that watches it.
      isolateExecutionTimeoutMs: undefined as unknown as number,
      reuseV8Context: options.reuseV8Context ?? true,
      registeredActivityNames: new Set(options.activities.keys()),
      hasPatchActivationCallback: patchActivationCallback !== undefined,
    } satisfies WorkerThreadInput;
    const clients = Array.from({ length: options.workflowThreadPoolSize }, () => {
      // The client listens, posts messages and terminates.
      const thread = new WatchedThread(limit) as unknown as Thread;
      return new WorkerThreadClient(thread, logger, patchActivationCallback);
    });
    await Promise.all(clients.map((client) => client.send(init)));
    return new ThreadedVMWorkflowCreator(clients);
  }
}

const LEVELS: readonly LogLevel[] = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR'];

/**
 * The logger without lines that the runtime's drops: the SDK makes metadata for several of each activity and task. Lines of activities and
 * workflows have loggers of their own, which are as before.
 */
function withoutDropped(logger: Logger): Logger {
  const { logger: given = new DefaultLogger() } = Runtime.defaultOptions;
  const least = given.constructor === DefaultLogger ? LEVELS.indexOf((given as DefaultLogger).level) : 0;
  const dropped = LEVELS.slice(0, least).map((level) => [level.toLowerCase(), () => undefined]);
  return Object.assign(Object.create(logger), Object.fromEntries(dropped));
}

/**
 * The workflow thread as the SDK's client sees it. Another thread takes the place of one that gives no answer: the tasks that it had fail,
 * and so does the next one of each other workflow that was cached in it, and histories are replayed. By itself the client would end
 * the worker.
 */
class WatchedThread extends EventEmitter {
  readonly #limit: number;
  #thread = this.#start();
  /** Loads the bundle, into each thread. */
  #init: WorkerThreadRequest | undefined;
  #isLoaded = false;
  /** Requests for a thread that has not loaded the bundle yet. */
  #early: WorkerThreadRequest[] = [];
  /** Ids of requests without an answer. */
  readonly #pending = new Set<bigint>();
  /** Runs of workflows in this thread. */
  readonly #runs = new Set<string>();
  /** Runs whose last activation had no log lines. */
  readonly #silent = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  #isWatched = true;
  /** Looks since the thread was last heard. */
  #looks = 0;

  /** @param limit milliseconds without an answer. */
  constructor(limit: number) {
    super();
    this.#limit = limit;
    this.#timer = setTimeout(() => this.#look(), limit / LOOKS).unref();
  }

  postMessage(request: WorkerThreadRequest): void {
    const { requestId, input } = request;
    const isSilent = input.type === 'extract-sink-calls' && this.#silent.delete(input.runId);
    if (isSilent || ('runId' in input && !this.#runs.has(input.runId))) {
      const result = input.type === 'activate-workflow' ? this.#lost : NO_CALLS;
      // Once the client waits for it.
      queueMicrotask(() => this.#answer(requestId, result));
      return;
    }
    this.#pending.add(requestId);
    if (input.type === 'init') this.#init = request;
    else if (input.type === 'create-workflow') this.#runs.add(input.options.info.runId);
    else if (input.type === 'dispose-workflow') this.#runs.delete(input.runId);
    if (this.#isLoaded || input.type === 'init') this.#thread.postMessage(request);
    else this.#early.push(request);
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.#looks = 0;
    this.#timer.refresh();
  }

  terminate(): Promise<number> {
    return this.#thread.terminate();
  }

  #start(): Thread {
    const thread = new Thread(moduleFile('worker/workflow-thread'), { name: 'holdfast workflows' });
    const isCurrent = () => this.#thread === thread;
    thread.on('message', (message) => isCurrent() && this.#hear(message));
    thread.on('error', (error) => isCurrent() && this.emit('error', error));
    thread.on('exit', (code) => {
      if (!isCurrent()) return;
      this.#pending.clear();
      this.emit('exit', code);
    });
    return thread;
  }

  #hear(message: WorkerThreadResponse | PatchActivationCallbackRequest): void {
    this.#looks = 0;
    if ('requestId' in message) {
      const { runId, silentRun } = activationOf(message);
      if (silentRun !== undefined) this.#silent.add(silentRun);
      else if (runId != null) this.#silent.delete(runId);
      if (message.requestId === this.#init?.requestId) this.#loaded();
      // Nobody waits for the bundle in a thread that takes the place of another one.
      if (!this.#pending.delete(message.requestId)) return;
    }
    this.emit('message', message);
  }

  #loaded(): void {
    this.#isLoaded = true;
    for (const request of this.#early.splice(0)) this.#thread.postMessage(request);
  }

  #look(): void {
    this.#isWatched = this.#pending.size > 0;
    if (!this.#isWatched) return;
    if (this.#isLoaded) this.#looks += 1;
    if (this.#looks > LOOKS) this.#replace();
    this.#timer.refresh();
  }

  #replace(): void {
    const silent = this.#thread;
    this.#thread = this.#start();
    void silent.terminate();
    this.#isLoaded = false;
    this.#early = [];
    this.#looks = 0;
    this.#runs.clear();
    this.#silent.clear();
    this.#thread.postMessage(this.#init);
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const requestId of pending) this.#answer(requestId, this.#lost);
  }

  #answer(requestId: bigint, result: WorkerThreadResponse['result']): void {
    this.emit('message', { requestId, result } satisfies WorkerThreadResponse);
  }

  get #lost(): WorkerThreadResponse['result'] {
    const message =
      `the workflow thread was ended, because a workflow task took longer than ${this.#limit / 1_000} s; ` +
      'each workflow that was in it goes on from its history';
    return { type: 'error', name: 'Error', message, stack: '' };
  }
}

/** The run of an activation, which is silent if it had no log lines, as `workflow-thread.ts` says. */
function activationOf({ result }: WorkerThreadResponse): { runId?: string | null; silentRun?: string } {
  if (result.type === 'error' || result.output?.type !== 'activation-completion') return {};
  const { completion } = result.output;
  return completion instanceof Uint8Array ? {} : completion;
}
