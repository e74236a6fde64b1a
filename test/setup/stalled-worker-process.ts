import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import { openStore } from '../../src/store/open-store.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { createWorker, jsonLogger } from '../../worker/index.ts';
import { OwnModel, saying } from './own-model.ts';
import type { TemporalPlace } from './own-namespace.ts';

/** What the test tells the worker process, as JSON in its first argument. */
export interface StalledWorkerOptions {
  place: TemporalPlace;
  taskQueue: string;
  /** URL of the store. */
  url: string;
  /** One line for each thing that has happened: `<worker> <what>`. */
  happened: string;
  worker: string;
  /** The tool waits for this file before its `once`; left out where it waits for nothing. */
  before?: string;
  /** The action of `once` waits for this file. */
  within?: string;
}

const options: StalledWorkerOptions = JSON.parse(process.argv[2] ?? '{}');
const happened = (what: string) => appendFileSync(options.happened, `${options.worker} ${what}\n`);

async function gate(path: string | undefined): Promise<void> {
  while (path !== undefined && !existsSync(path)) await setTimeout(20);
}

const pay = tool({
  name: 'pay',
  description: 'pays once',
  parameters: z.object({}),
  heartbeatTimeout: '2s',
  execute: async (_args, context) => {
    happened(`begins ${context.attempt}`);
    await gate(options.before);
    try {
      return await context.once('payment', async () => {
        happened('pays');
        await gate(options.within);
        return { paid: options.worker };
      });
    } catch (error) {
      // As tools do that take it for a failure of the payment.
      happened(`is refused: ${thrownMessage(error)}`);
      return { paid: false };
    }
  },
});

const model = new OwnModel(async ({ contents }) => {
  const { functionResponse } = contents.at(-1)?.parts?.[0] ?? {};
  if (functionResponse !== undefined) return saying(JSON.stringify(functionResponse.response));
  return { content: { role: 'model', parts: [{ functionCall: { name: 'pay', args: {}, id: 'c1' } }] } };
});

Runtime.install({ logger: new DefaultLogger('ERROR') });
const worker = await createWorker({
  agents: [new LlmAgent({ name: 'payer', model, tools: [pay] })],
  store: await openStore({ url: options.url }),
  taskQueue: options.taskQueue,
  connection: await NativeConnection.connect({ address: options.place.address }),
  namespace: options.place.namespace,
  logger: jsonLogger({ level: 'error' }),
});
const running = worker.run();
console.log('polling');
await running;
