import { appendFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { openStore } from '../../src/store/open-store.ts';
import { createWorker, jsonLogger } from '../../worker/index.ts';
import type { FromWorker } from '../setup/supervised-worker.ts';
import { TreeEffects, treeApp } from './killed-agents.ts';

/** What the harness tells a worker process, as JSON in its first argument. */
export interface TreeWorkerOptions {
  address: string;
  /** Of the store, which the harness owns. */
  socket: string;
  /** Where effects are written. */
  folder: string;
}

const options: TreeWorkerOptions = JSON.parse(process.argv[2] ?? '{}');
const tell = (message: FromWorker) => process.send?.(message);
process.once('disconnect', () => process.exit(1));
const log = join(options.folder, 'worker.log');
Runtime.install({
  logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
    const what = `${new Date().toISOString()} ${level} ${message} ${inspect(meta, { depth: 9 })}\n`;
    appendFileSync(log, what);
  }),
});
const store = await openStore({ socket: options.socket });
store.live.onNotice((notice) => tell({ type: 'notice', notice }));
const worker = await createWorker({
  apps: [treeApp(new TreeEffects(options.folder))],
  store,
  connection: await NativeConnection.connect({ address: options.address }),
  searchAttributes: true,
  logger: jsonLogger({ level: 'error' }),
});
const running = worker.run();
tell({ type: 'polls' });
// It is killed before it could write its part of the cache, which makes the next start quicker.
flushCompileCache();
await running;
