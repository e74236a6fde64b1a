import { appendFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { Issuer } from '../../src/approvals/issuer.ts';
import { type AuditEntry, callKeyOfRequest } from '../../src/protocol/gate.ts';
import type { BeginAnsweredCall, SuspendCall } from '../../src/store/approvals/approval-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { CommitStep } from '../../src/store/turns/step-store.ts';
import { createWorker, jsonLogger } from '../../worker/index.ts';
import { Doom, type Dooms, type Moment } from './doom.ts';
import { gatedApp } from './gated-apps.ts';
import { GatedEffects } from './gated-effects.ts';
import type { FromWorker } from './supervised-worker.ts';
import { type StoreOperation, wrappedStore } from './wrapped-store.ts';

/** What the harness tells a worker process, as JSON in its first argument. */
export interface GatedWorkerOptions {
  address: string;
  /** Of the store, which the harness owns. */
  socket: string;
  /** Where effects are written. */
  folder: string;
  dooms: Dooms;
  issuers: Issuer[];
}

const options: GatedWorkerOptions = JSON.parse(process.argv[2] ?? '{}');
const tell = (message: FromWorker) => process.send?.(message);
process.once('disconnect', () => process.exit(1));
const log = join(options.folder, 'worker.log');
Runtime.install({
  logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
    const what = `${new Date().toISOString()} ${level} ${message} ${inspect(meta, { depth: 9 })}\n`;
    appendFileSync(log, what);
  }),
});
const effects = new GatedEffects(options.folder);
const doom = new Doom(options.folder, options.dooms);
const store = await openStore({ socket: options.socket });
store.live.onNotice((notice) => tell({ type: 'notice', notice }));
const worker = await createWorker({
  apps: [gatedApp(effects, doom, options.issuers)],
  store: doomed(store),
  connection: await NativeConnection.connect({ address: options.address }),
  searchAttributes: true,
  logger: jsonLogger({ level: 'error' }),
});
const running = worker.run();
tell({ type: 'polls' });
// It is killed before it could write its part of the cache, which makes the next start quicker.
flushCompileCache();
await running;

/** The store, at some of whose calls the process dies. */
function doomed(actual: Store): Store {
  const keysOf: Partial<Record<StoreOperation, [what: string, (given: never) => (string | undefined)[]]>> = {
    'turns.commitStep': ['ask', ({ requests = [] }: CommitStep) => requests.map(({ callKey }) => callKey)],
    'approvals.suspendCall': ['suspend', ({ callKey }: SuspendCall) => [callKey]],
    'approvals.recordEntries': [
      'vote',
      ({ entries }: { entries: AuditEntry[] }) => entries.map(({ requestId }) => callKeyOfRequest(requestId)),
    ],
    'approvals.recordSigned': [
      'vote',
      ({ signed }: { signed: { requestId: string } }) => [callKeyOfRequest(signed.requestId)],
    ],
    'approvals.beginAnsweredCall': ['begin', ({ callKey }: BeginAnsweredCall) => [callKey]],
    'turns.settleCall': ['settle', ({ callKey }: { callKey: string }) => [callKey]],
  };
  return wrappedStore(actual, (operation, own) => {
    const [what, keys] = keysOf[operation] ?? [];
    if (keys === undefined) return undefined;
    return async (given: never) => {
      const die = async (when: 'before' | 'after') => {
        for (const key of keys(given)) await doom.reached(`${when} ${what}` as Moment, key ?? '');
      };
      await die('before');
      const result = await own(given);
      await die('after');
      return result;
    };
  });
}
