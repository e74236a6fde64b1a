import { setTimeout } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
// The built package, as users run it: type stripping would be measured otherwise.
import { BaseLlm, LlmAgent, type LlmResponse, openStore, tool } from '../dist/src/index.js';
import { createWorker, jsonLogger } from '../dist/worker/index.js';

/** A worker in a process of its own, which tells when it polls and how much memory it holds. */
const [address = '', folder = '', cached = ''] = process.argv.slice(2);

class CallingLlm extends BaseLlm {
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    yield { content: { role: 'model', parts: [{ functionCall: { name: 'park', args: {} } }] } };
  }
}

/** Parked between two attempts, a turn holds nothing in the worker but its cached workflow. */
const park = tool({
  name: 'park',
  description: 'fails, and is tried again much later',
  retry: { initialInterval: '30 minutes', maximumInterval: '30 minutes' },
  execute: () => {
    throw new Error('later');
  },
});
Runtime.install({ logger: new DefaultLogger('ERROR') });
const [store, connection] = await Promise.all([openStore({ folder }), NativeConnection.connect({ address })]);
const worker = await createWorker({
  agents: [new LlmAgent({ name: 'bench', model: new CallingLlm({ model: 'calling' }), tools: [park] })],
  store,
  connection,
  logger: jsonLogger({ level: 'error' }),
  maxCachedWorkflows: Number(cached),
});
const running = worker.run();
while (worker.getState() !== 'RUNNING') await setTimeout(1);
process.send?.({ pollingAfterMs: performance.now() });
process.on('message', () => {
  globalThis.gc?.();
  process.send?.({ rss: process.memoryUsage().rss });
});
await running;
