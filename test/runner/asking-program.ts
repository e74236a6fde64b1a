import { createInterface } from 'node:readline/promises';
import { InMemoryRunner, LlmAgent, stringifyContent } from '../../src/index.ts';

/** Answers each line that is typed in, in one session, and ends with its input. */
const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'plain', model: 'gemini-2.5-flash' }) });
const names = { appName: runner.appName, userId: 'ada', sessionId: 's1' };
await runner.sessionService.createSession(names);
for await (const text of createInterface({ input: process.stdin })) {
  for await (const event of runner.runAsync({ ...names, newMessage: { parts: [{ text }] } })) {
    const session = await runner.sessionService.getSession(names);
    console.log(`${session?.events.length}: ${stringifyContent(event)}`);
  }
}
