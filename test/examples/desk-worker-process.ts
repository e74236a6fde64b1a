import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { app } from '../../examples/support/agents.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createWorker, jsonLogger } from '../../worker/index.ts';
import type { TemporalPlace } from '../setup/own-namespace.ts';

/** What the test tells the process, as JSON in its first argument. */
export interface DeskWorkerOptions {
  place: TemporalPlace;
  taskQueue: string;
  /** Of the store. */
  url: string;
}

const { place, taskQueue, url }: DeskWorkerOptions = JSON.parse(process.argv[2] ?? '{}');
Runtime.install({ logger: new DefaultLogger('ERROR') });
const worker = await createWorker({
  apps: [app],
  store: untilARefundSettles(await openStore({ url })),
  taskQueue,
  connection: await NativeConnection.connect({ address: place.address }),
  namespace: place.namespace,
  logger: jsonLogger({ level: 'error' }),
});
await worker.run();

/** Between a payment and the record of its outcome nothing goes on any more. */
function untilARefundSettles(actual: Store): Store {
  const { turns } = actual;
  const settleCall: typeof turns.settleCall = async (call) => {
    if (!('receipt' in call.response)) return await turns.settleCall(call);
    process.stdout.write('paid\n');
    return await new Promise<never>(() => undefined);
  };
  return { ...actual, turns: { ...turns, settleCall } };
}
