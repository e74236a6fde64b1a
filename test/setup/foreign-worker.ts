import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import type { Foreign } from './foreign-workflow.ts';

/** Somebody who may write to the Temporal namespace, and has no code, store or key of Holdfast's. */
export class ForeignWorker {
  readonly #temporal: Client;
  readonly #native: NativeConnection;
  readonly #worker: Worker;
  readonly #running: Promise<void>;

  private constructor(temporal: Client, native: NativeConnection, worker: Worker) {
    this.#temporal = temporal;
    this.#native = native;
    this.#worker = worker;
    this.#running = worker.run();
  }

  static async start(temporal: Client, options: Partial<WorkerOptions> = {}): Promise<ForeignWorker> {
    const { address } = (temporal.connection as Connection).options;
    const native = await NativeConnection.connect({ address });
    const taskQueue = `foreign-${randomUUID()}`;
    const workflowsPath = fileURLToPath(new URL('foreign-workflow.ts', import.meta.url));
    const code = options.activities === undefined ? { workflowsPath } : {};
    const { namespace } = temporal.options;
    const worker = await Worker.create({
      ...{ connection: native, namespace, taskQueue, shutdownGraceTime: 0 },
      ...code,
      ...options,
    });
    return new ForeignWorker(temporal, native, worker);
  }

  /** Has an activity of Holdfast's run with this input. */
  schedule(type: string, input: object): Promise<Foreign> {
    return this.#temporal.workflow.execute<(type: string, input: object) => Promise<Foreign>>('foreign', {
      workflowId: randomUUID(),
      taskQueue: this.#worker.options.taskQueue,
      args: [type, input],
    });
  }

  async close(): Promise<void> {
    this.#worker.shutdown();
    await this.#running;
    await this.#native.close();
  }
}
