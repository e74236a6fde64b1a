import { appendFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { JobRow } from '../../src/contract/jobs.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createTestWorker } from '../../worker/create-worker.ts';
import { jsonLogger } from '../../worker/index.ts';
import { Doom, type Dooms } from './doom.ts';
import { type Deployment, type JobMoment, jobApp } from './job-apps.ts';
import { JobService } from './job-service.ts';
import type { FromWorker } from './supervised-worker.ts';
import { type StoreOperation, wrappedStore } from './wrapped-store.ts';

/** What the harness tells a worker process, as JSON in its first argument. */
export interface JobWorkerOptions {
  address: string;
  /** Of the store, which the harness owns. */
  socket: string;
  /** Where the service of the jobs is. */
  folder: string;
  credentialKeys: Record<string, string>;
  publicUrl: string;
  dooms: Dooms<JobMoment>;
  deployment?: Deployment;
}

const options: JobWorkerOptions = JSON.parse(process.argv[2] ?? '{}');
const tell = (message: FromWorker) => process.send?.(message);
process.once('disconnect', () => process.exit(1));
const log = join(options.folder, 'worker.log');
const write = (what: string, meta: unknown) =>
  appendFileSync(log, `${new Date().toISOString()} ${what} ${inspect(meta, { depth: 9 })}\n`);
Runtime.install({
  logger: new DefaultLogger('WARN', ({ level, message, meta }) => write(`${level} ${message}`, meta)),
});
const service = new JobService(options.folder);
const doom = new Doom<JobMoment>(options.folder, options.dooms);
const store = await openStore({ socket: options.socket });
store.live.onNotice((notice) => tell({ type: 'notice', notice }));
const worker = await createTestWorker({
  apps: [jobApp(service, doom, options.deployment)],
  store: doomed(store),
  connection: await NativeConnection.connect({ address: options.address }),
  searchAttributes: true,
  credentialKeys: options.credentialKeys,
  publicUrl: options.publicUrl,
  logger: { ...jsonLogger({ level: 'error' }), warn: write },
});
const running = worker.run();
tell({ type: 'polls' });
// It is killed before it could write its part of the cache, which makes the next start quicker.
flushCompileCache();
await running;

/** The store, at some of whose calls the process dies; it leaves word outside of jobs that their tools have handed out. */
function doomed(actual: Store): Store {
  const whats: Partial<Record<StoreOperation, string>> = {
    'jobs.open': 'open',
    'jobs.park': 'park',
    'jobs.detach': 'detach',
    'jobs.await': 'wait',
    'jobs.recordPoll': 'poll',
    'jobs.end': 'end',
    'turns.settleCall': 'settle',
    'jobs.delivery': 'deliver',
  };
  const handedOut: Partial<Record<StoreOperation, 'parked' | 'detached'>> = {
    'jobs.park': 'parked',
    'jobs.detach': 'detached',
  };
  const callKeyOf = async ({ callKey, jobId }: { callKey?: string; jobId?: string }) =>
    callKey ?? (jobId === undefined ? undefined : (await actual.jobs.find(jobId))?.callKey) ?? '';
  return wrappedStore(actual, (operation, own) => {
    const what = whats[operation];
    if (what === undefined) return undefined;
    return async (given: never) => {
      const callKey = await callKeyOf(given);
      await doom.reached(`before ${what}` as JobMoment, callKey);
      const result = await own(given);
      const row = result as JobRow | undefined;
      const handed = handedOut[operation];
      if (handed !== undefined && row !== undefined) {
        const { jobId, sessionId: session, tool } = row;
        service.note({ what: handed, jobId, session, callKey, tool, n: 0 });
      }
      await doom.reached(`after ${what}` as JobMoment, callKey);
      return result;
    };
  });
}
