import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { LRUCache } from 'lru-cache';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createWorker } from '../../worker/index.ts';
import { soakAgents, soakApps } from './soak-agents.ts';
import { SoakEffects } from './soak-effects.ts';
import { inStepMode, type StepMode } from './step-mode.ts';

/** What the harness tells a worker process, as JSON in its first argument. */
export interface SoakWorkerOptions {
  address: string;
  taskQueue: string;
  /** Where effects are noted. */
  effects: string;
  store: { folder: string } | { url: string };
  workflowBundlePath?: string;
  /** How its agents run their steps. Defaults to single ones. */
  steps?: StepMode;
}

const options: SoakWorkerOptions = JSON.parse(process.argv[2] ?? '{}');
Runtime.install({
  logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
    process.stderr.write(`${new Date().toISOString()} ${level} ${message} ${JSON.stringify(meta ?? {})}\n`);
  }),
});
const effects = new SoakEffects(options.effects);
const store = await openStore(options.store);
const agents = soakAgents(effects);
const apps = soakApps(effects);
inStepMode([...agents, ...apps.map(({ rootAgent }) => rootAgent)], options.steps);
const worker = await createWorker({
  agents,
  apps,
  store: noting(store),
  taskQueue: options.taskQueue,
  connection: await NativeConnection.connect({ address: options.address }),
  searchAttributes: true,
  // Sessions leave them during a soak, and what is kept for longer shows.
  transcriptCacheBytes: 1024 * 1024,
  maxCachedWorkflows: 10,
  ...(options.workflowBundlePath === undefined ? {} : { workflowBundlePath: options.workflowBundlePath }),
});
setFlagsFromString('--expose-gc');
const collectGarbage: (options: object) => void = runInNewContext('gc');
process.on('message', () => {
  // Compiled code, which comes with the first turns, goes with it.
  collectGarbage({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  process.send?.(process.memoryUsage().heapUsed);
});
const running = worker.run();
console.log('polling');
// It is killed before it could write its part of the cache, which makes the next start quicker.
flushCompileCache();
await running;

/** The store, which leaves word outside of the process of what it has promised. */
function noting(actual: Store): Store {
  // Calls that go on are fewer: what is kept of all would look like a leak of the worker's.
  const attempts = new LRUCache<string, number>({ max: 1_000 });
  const attemptOf = (callKey: string) => attempts.get(callKey) ?? 0;
  const noted: Pick<Store['turns'], 'beginCall' | 'recordOnce' | 'settleCall'> = {
    async beginCall(call) {
      const asked = Date.now();
      const begun = await actual.turns.beginCall(call);
      if (begun.kind === 'started') {
        const { callKey } = call;
        attempts.set(callKey, begun.attempt);
        effects.note({ kind: 'begun', callKey, attempt: begun.attempt, asked });
      }
      return begun;
    },
    async recordOnce(call) {
      const recorded = await actual.turns.recordOnce(call);
      // What is said before a step asks its model is recorded, too.
      const { callKey } = call;
      if (attempts.has(callKey)) effects.note({ kind: 'recorded', callKey, attempt: attemptOf(callKey) });
      return recorded;
    },
    async settleCall(call) {
      const settled = await actual.turns.settleCall(call);
      effects.note({ kind: 'settled', callKey: call.callKey, attempt: attemptOf(call.callKey) });
      return settled;
    },
  };
  return { ...actual, turns: { ...actual.turns, ...noted } };
}
