import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  type BaseTool,
  BaseToolset,
  InMemoryRunner,
  isFinalResponse,
  LlmAgent,
  stringifyContent,
} from '../../src/index.ts';

/** An ADK program as people write it, without a `close()`: two turns of one session, and a pause between them. */
const keeper = new Worker('setInterval(() => undefined, 1e9)', { eval: true });
const before = JSON.stringify(process.getActiveResourcesInfo().sort());

/** Holds something open that keeps a process up, as a connection does. */
class Connected extends BaseToolset {
  #server = createServer();

  async getTools(): Promise<BaseTool[]> {
    if (!this.#server.listening) this.#server.listen(0, '127.0.0.1');
    return [];
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server = createServer();
  }
}

const runner = new InMemoryRunner({
  agent: new LlmAgent({ name: 'plain', model: 'gemini-2.5-flash', tools: [new Connected([])] }),
});
const names = { appName: runner.appName, userId: 'ada', sessionId: 's1' };
await runner.sessionService.createSession({ ...names, state: { plan: 'gold' } });
await say('one');
// Until nothing keeps this process but the thread: then its environment was suspended.
while (JSON.stringify(process.getActiveResourcesInfo().sort()) !== before) {
  await setTimeout(20, undefined, { ref: false });
}
console.log('suspended');
await say('two');
const session = await runner.sessionService.getSession(names);
console.log(`${session?.events.length} events, plan ${session?.state.plan}`);
await keeper.terminate();

async function say(text: string): Promise<void> {
  const newMessage = { parts: [{ text }] };
  for await (const event of runner.runAsync({ ...names, newMessage })) {
    if (isFinalResponse(event)) console.log(stringifyContent(event));
  }
}
