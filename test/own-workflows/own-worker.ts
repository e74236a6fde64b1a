import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { CHECKS_AS_DATA } from '../../scripts/build-bundle.ts';
import type { History, TurnEnvironment } from '../setup/turn-environment.ts';

const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url));
let bundled: Promise<string> | undefined;

/** The workflows of a user, as `Worker.create({ workflowsPath })` bundles them. */
export function ownBundle(): Promise<string> {
  bundled ??= bundleWorkflowCode({
    workflowsPath,
    logger: new DefaultLogger('ERROR'),
    // As in the package, whose checks are data.
    webpackConfigHook: (config) => {
      config.module?.rules?.push(CHECKS_AS_DATA);
      return config;
    },
  }).then(({ code }) => code);
  return bundled;
}

/** A user's worker on a task queue of its own, beside Holdfast's. */
export class OwnWorker {
  readonly taskQueue = `own-${randomUUID()}`;
  readonly #environment: TurnEnvironment;
  #running: { worker: Worker; connection: NativeConnection; ended: Promise<void> } | undefined;

  constructor(environment: TurnEnvironment) {
    this.#environment = environment;
  }

  async start(): Promise<void> {
    const { address, namespace } = this.#environment.place;
    const connection = await NativeConnection.connect({ address });
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue: this.taskQueue,
      workflowBundle: { code: await ownBundle() },
    });
    this.#running = { worker, connection, ended: worker.run() };
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.worker.shutdown();
    await running?.ended;
    await running?.connection.close();
  }

  async begin(workflow: string, ...args: unknown[]): Promise<WorkflowHandle> {
    const { workflow: client } = this.#environment.temporal;
    return await client.start(workflow, {
      workflowId: `own-${randomUUID()}`,
      taskQueue: this.taskQueue,
      args,
    });
  }
}

/** @throws where the history doesn't replay on the workflows as they are. */
export async function replayed(handle: Pick<WorkflowHandle, 'fetchHistory' | 'workflowId'>): Promise<void> {
  const history: History = await handle.fetchHistory();
  await Worker.runReplayHistory({ workflowBundle: { code: await ownBundle() } }, history, handle.workflowId);
}
