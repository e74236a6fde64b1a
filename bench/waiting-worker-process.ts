import { setTimeout } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
// The built package, as users run it: type stripping would be measured otherwise.
import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse, openStore, tool } from '../dist/src/index.js';
import { createWorker, jsonLogger } from '../dist/worker/index.js';

/** A worker whose turns wait for a person, in a process that says how much memory it holds. */
const [address = '', socket = '', cached = ''] = process.argv.slice(2);

class AskingLlm extends BaseLlm {
  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const isAnswered = contents.some(({ parts }) => parts?.some((part) => part.functionResponse));
    const part = isAnswered ? { text: 'done' } : { functionCall: { name: 'pay', args: { amount: 40 } } };
    yield { content: { role: 'model', parts: [part] } };
  }
}

const pay = tool({
  name: 'pay',
  description: 'waits for a person',
  parameters: { type: 'object', properties: { amount: { type: 'number' } } },
  requireConfirmation: true,
  execute: () => ({}),
});
Runtime.install({ logger: new DefaultLogger('ERROR') });
const [store, connection] = await Promise.all([openStore({ socket }), NativeConnection.connect({ address })]);
const worker = await createWorker({
  agents: [new LlmAgent({ name: 'bench', model: new AskingLlm({ model: 'asking' }), tools: [pay] })],
  store,
  connection,
  logger: jsonLogger({ level: 'error' }),
  maxCachedWorkflows: Number(cached),
});
const running = worker.run();
while (worker.getState() !== 'RUNNING') await setTimeout(1);
process.send?.('polls');
process.on('message', () => {
  globalThis.gc?.();
  process.send?.({ rss: process.memoryUsage().rss });
});
await running;
