import { setTimeout } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
// The built package, as users run it: type stripping would be measured otherwise.
import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse, openStore, tool } from '../dist/src/index.js';
import { createWorker, jsonLogger } from '../dist/worker/index.js';
import { usedHeaps } from './thread-heaps.ts';

/** A worker whose turns wait for a person, in a process that says how much memory it holds, and what its tool has done. */
const [address = '', socket = '', cached = ''] = process.argv.slice(2);

export interface WaitingWorker {
  /** Bytes: resident, and of all JavaScript heaps after a full collection. */
  resident: number;
  heap: number;
  /** Workflows that the worker has in its cache. */
  cached: number;
  /** Runs of the tool, and calls that it has run for. */
  runs: number;
  calls: number;
}

class AskingLlm extends BaseLlm {
  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const isAnswered = contents.some(({ parts }) => parts?.some((part) => part.functionResponse));
    const part = isAnswered ? { text: 'done' } : { functionCall: { name: 'pay', args: { amount: 40 } } };
    yield { content: { role: 'model', parts: [part] } };
  }
}

const calls = new Set<string>();
let runs = 0;
const pay = tool({
  name: 'pay',
  description: 'waits for a person',
  parameters: { type: 'object', properties: { amount: { type: 'number' } } },
  requireConfirmation: true,
  execute: (_args: unknown, { idempotencyKey }) => {
    runs += 1;
    calls.add(idempotencyKey);
    return {};
  },
});
Runtime.install({ logger: new DefaultLogger('ERROR') });
const [store, connection] = await Promise.all([openStore({ socket }), NativeConnection.connect({ address })]);
const worker = await createWorker({
  agents: [new LlmAgent({ name: 'bench', model: new AskingLlm({ model: 'asking' }), tools: [pay] })],
  store,
  connection,
  logger: jsonLogger({ level: 'error' }),
  maxCachedWorkflows: Number(cached),
  searchAttributes: true,
});
const running = worker.run();
while (worker.getState() !== 'RUNNING') await setTimeout(1);
process.send?.('polls');
process.on('message', async () => {
  const heap = await usedHeaps();
  const { rss: resident } = process.memoryUsage();
  const { numCachedWorkflows } = worker.getStatus();
  const told: WaitingWorker = { resident, heap, cached: numCachedWorkflows, runs, calls: calls.size };
  process.send?.(told);
});
await running;
