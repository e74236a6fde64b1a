import { randomUUID } from 'node:crypto';
import { afterAll, afterEach } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { defined } from '../../src/protocol/json.ts';
import { RestartedWorker } from '../../src/testing/open-test-environment.ts';
import { createTestWorker } from '../../worker/create-worker.ts';
import { startWorker } from '../../worker/environment/running-worker.ts';
import { inStepMode } from './step-mode.ts';
import {
  openTurnEnvironment,
  placeFor,
  runTurn,
  type TurnEnvironment,
  type TurnEnvironmentOptions,
} from './turn-environment.ts';

/** What is a test's own, where tests share the rest. */
export type OwnPart = Pick<TurnEnvironmentOptions, 'agents' | 'apps' | 'script' | 'workerOptions'>;

export type OpenShared = (own: OwnPart) => Promise<TurnEnvironment>;

const silent = () => undefined;
const SILENT = { debug: silent, info: silent, warn: silent, error: silent };

type Shared = Pick<TurnEnvironmentOptions, 'serverConfig'>;

/** A process has one at a time, as it has one runtime of Temporal's. */
let ground: { of: Shared; opened: Promise<TurnEnvironment> } | undefined;

async function closeGround(): Promise<void> {
  await (await ground?.opened)?.close();
  ground = undefined;
}

/**
 * One server and one store for tests of a file that have agents of their own: these take seconds to start, a worker takes a moment.
 *
 * @returns opens an environment with a worker of its own, on a task queue of its own, which ends with its test.
 */
export function shareEnvironment(shared: Shared = {}): OpenShared {
  const open: TurnEnvironment[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });
  afterAll(closeGround);
  return async (own) => {
    if (ground?.of !== shared) {
      await closeGround();
      ground = { of: shared, opened: withoutWorker(shared) };
    }
    const one = await withWorker(await ground.opened, own);
    open.push(one);
    return one;
  };
}

async function withoutWorker(shared: Shared): Promise<TurnEnvironment> {
  const nobody = new LlmAgent({ name: 'nobody', model: 'gemini-2.5-flash' });
  const ground = await openTurnEnvironment({ agents: [nobody], ...shared });
  await ground.stopWorker();
  return ground;
}

async function withWorker(ground: TurnEnvironment, own: OwnPart): Promise<TurnEnvironment> {
  const { environment, runtime, temporal, store, gemini } = ground;
  const { agents, apps, script, workerOptions } = own;
  inStepMode([...(agents ?? []), ...(apps ?? []).map(({ rootAgent }) => rootAgent)]);
  if (script !== undefined) gemini.reset(script);
  const taskQueue = workerOptions?.taskQueue ?? `own-${randomUUID()}`;
  const worker = new RestartedWorker(() =>
    startWorker(placeFor(environment, workerOptions), {
      ...defined({ agents, apps }),
      runtime,
      create: createTestWorker,
      taskQueue,
      logger: SILENT,
      shutdownGraceTime: 0,
      ...workerOptions,
    }),
  );
  await worker.restart();
  const client = environment.client(taskQueue);
  return {
    ...ground,
    client,
    run: (turn) => runTurn({ client, temporal, store }, turn),
    stopWorker: () => worker.stop(),
    restartWorker: () => worker.restart(),
    close: () => worker.close(),
  };
}
