import { flushCompileCache } from 'node:module';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { StoreNotice } from '../../src/store/live/live-feed.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createWorker, jsonLogger } from '../../worker/index.ts';
import type { TemporalPlace } from './own-namespace.ts';
import { inStepMode } from './step-mode.ts';
import { watchedApps } from './watched-apps.ts';
import { Witness } from './witness.ts';
import { type StoreOperation, wrappedStore } from './wrapped-store.ts';

/** What the test tells the worker process, as JSON in its first argument. */
export interface WatchedWorkerOptions {
  place: TemporalPlace;
  /** Of the store, which the test's process owns. */
  socket: string;
  /** Where the witness writes. */
  file: string;
  /** By session: what it is held at. `openStep before` and the like are calls of the store. */
  holds: Record<string, string>;
}

/** What the worker process tells the test. */
export type FromWatchedWorker = { type: 'polls' } | { type: 'notice'; notice: StoreNotice };

const SEEN: readonly StoreOperation[] = ['turns.openStep', 'turns.commitStep', 'turns.recordOnce'];

const options: WatchedWorkerOptions = JSON.parse(process.argv[2] ?? '{}');
const tell = (message: FromWatchedWorker) => process.send?.(message);
process.once('disconnect', () => process.exit(1));
Runtime.install({ logger: new DefaultLogger('ERROR') });
const witness = new Witness(options.file, options.holds);
const store = await openStore({ socket: options.socket });
store.live.onNotice((notice) => tell({ type: 'notice', notice }));
const apps = watchedApps(witness);
inStepMode(apps.map(({ rootAgent }) => rootAgent));
const worker = await createWorker({
  apps,
  store: seen(store),
  connection: await NativeConnection.connect({ address: options.place.address }),
  namespace: options.place.namespace,
  searchAttributes: true,
  logger: jsonLogger({ level: 'error' }),
});
const running = worker.run();
tell({ type: 'polls' });
// It is killed before it could write its part of the cache, which makes the next start quicker.
flushCompileCache();
await running;

/** The witness sees what is written of those sessions that are held there. */
function seen(actual: Store): Store {
  const sessions = new Map<string, string>();
  return wrappedStore(actual, (operation, own) => {
    if (!SEEN.includes(operation)) return undefined;
    const [, method] = operation.split('.');
    return async (given: { session?: string; identity?: { sessionId: string } }) => {
      const named = () => given.identity?.sessionId ?? sessions.get(given.session ?? '') ?? '';
      const see = async (when: 'before' | 'after') => {
        const session = named();
        if (options.holds[session]?.startsWith(`${method}`)) await witness.saw(session, `${method} ${when}`);
      };
      await see('before');
      const result = (await own(given as never)) as { session?: string };
      if (given.identity !== undefined && result.session !== undefined) {
        sessions.set(result.session, given.identity.sessionId);
      }
      await see('after');
      return result;
    };
  });
}
