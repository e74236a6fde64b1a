import { flushCompileCache } from 'node:module';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createWorker, jsonLogger } from '../../worker/index.ts';
import { type CrashFiles, crashAgents } from './crash-agents.ts';
import type { TemporalPlace } from './own-namespace.ts';

/** What the test tells the worker process, as JSON in its first argument. */
export interface WorkerProcessOptions {
  place: TemporalPlace;
  taskQueue: string;
  /** Of the store. */
  url: string;
  files: CrashFiles;
  /** Never returns from this call of the store, and says so. */
  hang?: { when: 'before' | 'after'; method: keyof Store; call: number };
}

const options: WorkerProcessOptions = JSON.parse(process.argv[2] ?? '{}');
Runtime.install({ logger: new DefaultLogger('ERROR') });
const store = await openStore({ url: options.url });
const worker = await createWorker({
  agents: crashAgents(options.files),
  store: options.hang === undefined ? store : hanging(store, options.hang),
  taskQueue: options.taskQueue,
  connection: await NativeConnection.connect({ address: options.place.address }),
  namespace: options.place.namespace,
  logger: jsonLogger({ level: 'error' }),
});
const running = worker.run();
console.log('polling');
// It is killed before it could write its part of the cache, which makes the next start quicker.
flushCompileCache();
await running;

function hanging(actual: Store, { when, method, call }: NonNullable<WorkerProcessOptions['hang']>): Store {
  let calls = 0;
  return new Proxy(actual, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const own = value.bind(target) as (...args: unknown[]) => unknown;
      if (name !== method) return own;
      return async (...args: unknown[]) => {
        calls += 1;
        if (calls === call && when === 'before') await hang();
        const result = await own(...args);
        if (calls === call && when === 'after') await hang();
        return result;
      };
    },
  });
}

async function hang(): Promise<never> {
  console.log('hanging');
  return await new Promise<never>(() => undefined);
}
