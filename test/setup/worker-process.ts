import { flushCompileCache } from 'node:module';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { BaseLlm } from '../../src/models/base-llm.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createWorker, jsonLogger } from '../../worker/index.ts';
import { type CrashFiles, crashAgents } from './crash-agents.ts';
import type { TemporalPlace } from './own-namespace.ts';
import { type StoreOperation, wrappedStore } from './wrapped-store.ts';

/** What the test tells the worker process, as JSON in its first argument. */
export interface WorkerProcessOptions {
  place: TemporalPlace;
  taskQueue: string;
  /** Of the store. */
  url: string;
  files: CrashFiles;
  /** Of its agents, in Gemini's place: one of the wire providers, and where its server is. */
  model?: { provider: string; url: string };
  /** Never returns from this call of the store, and says so. */
  hang?: { when: 'before' | 'after'; operation: StoreOperation; call: number };
}

const options: WorkerProcessOptions = JSON.parse(process.argv[2] ?? '{}');
Runtime.install({ logger: new DefaultLogger('ERROR') });
const store = await openStore({ url: options.url });
const worker = await createWorker({
  agents: crashAgents(options.files, options.model && (await wireModel(options.model))),
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

/** Loaded only where it is asked: the packages of all providers take as long as the rest of the process. */
async function wireModel({ provider, url }: NonNullable<WorkerProcessOptions['model']>): Promise<BaseLlm> {
  const { WIRE_PROVIDERS } = await import('./wire/providers.ts');
  const found = WIRE_PROVIDERS.find(({ name }) => name === provider);
  if (found === undefined) throw new Error(`no wire provider ${provider}`);
  return found.model(url);
}

function hanging(actual: Store, { when, operation, call }: NonNullable<WorkerProcessOptions['hang']>): Store {
  let calls = 0;
  return wrappedStore(actual, (asked, own) => {
    if (asked !== operation) return undefined;
    return async (...given) => {
      calls += 1;
      if (calls === call && when === 'before') await hang();
      const result = await own(...given);
      if (calls === call && when === 'after') await hang();
      return result;
    };
  });
}

async function hang(): Promise<never> {
  console.log('hanging');
  return await new Promise<never>(() => undefined);
}
