import { appendFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { Issuer } from '../../src/approvals/issuer.ts';
import { callKeyOfRequest, type RequestEntry } from '../../src/protocol/gate.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { BeginAnsweredCall, CommitStep, Store, SuspendCall } from '../../src/store/store.ts';
import { createWorker, jsonLogger } from '../../worker/index.ts';
import { Doom, type Dooms, type Moment } from './doom.ts';
import { gatedApp } from './gated-apps.ts';
import { GatedEffects } from './gated-effects.ts';
import type { FromWorker } from './supervised-worker.ts';

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
store.onNotice((notice) => tell({ type: 'notice', notice }));
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
  const keysOf: Record<string, [what: string, (given: never) => (string | undefined)[]]> = {
    commitStep: ['ask', ({ requests = [] }: CommitStep) => requests.map(({ callKey }) => callKey)],
    suspendCall: ['suspend', ({ callKey }: SuspendCall) => [callKey]],
    recordEntries: [
      'vote',
      ({ entries }: { entries: RequestEntry[] }) =>
        entries.map(({ requestId }) => callKeyOfRequest(requestId)),
    ],
    recordSigned: [
      'vote',
      ({ signed }: { signed: { requestId: string } }) => [callKeyOfRequest(signed.requestId)],
    ],
    beginAnsweredCall: ['begin', ({ callKey }: BeginAnsweredCall) => [callKey]],
    settleCall: ['settle', ({ callKey }: { callKey: string }) => [callKey]],
  };
  return new Proxy(actual, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const own = value.bind(target) as (given: never) => unknown;
      const [what, keys] = keysOf[String(name)] ?? [];
      if (keys === undefined) return own;
      return async (given: never) => {
        const die = async (when: 'before' | 'after') => {
          for (const key of keys(given)) await doom.reached(`${when} ${what}` as Moment, key ?? '');
        };
        await die('before');
        const result = await own(given);
        await die('after');
        return result;
      };
    },
  });
}
