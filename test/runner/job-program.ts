import { setTimeout } from 'node:timers/promises';
import { InMemoryRunner, LlmAgent, LongRunningFunctionTool, stringifyContent } from '../../src/index.ts';

/** An ADK program whose tool hands its work to a service, which answers while the program waits for it, and after a pause. */
let ordered = Promise.withResolvers<{ callbackUrl: string; token: string }>();
const order = new LongRunningFunctionTool({
  name: 'order',
  description: 'Orders a report.',
  execute: (_args: unknown, { job }) => {
    const { callbackUrl, token } = job;
    ordered.resolve({ callbackUrl, token });
  },
});
const runner = new InMemoryRunner({
  agent: new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [order] }),
});
const names = { appName: runner.appName, userId: 'ada', sessionId: 's1' };
await runner.sessionService.createSession(names);

await say('one');
await complete({ pages: 7 });
// A program with something of its own to do keeps its environment up.
for (let texts = await textsOf(); texts.length === 0; texts = await textsOf()) await setTimeout(50);
console.log((await textsOf()).at(-1));

ordered = Promise.withResolvers();
const callId = await say('two');
const newMessage = {
  role: 'user',
  parts: [{ functionResponse: { id: callId, name: 'order', response: { pages: 8 } } }],
};
for await (const { content } of runner.runAsync({ ...names, newMessage })) {
  console.log(
    content?.parts?.map((part) => part.text ?? JSON.stringify(part.functionResponse?.response)).join(),
  );
}

async function say(text: string): Promise<string> {
  let id = '';
  for await (const { content } of runner.runAsync({ ...names, newMessage: { parts: [{ text }] } })) {
    for (const { functionCall } of content?.parts ?? []) id = functionCall?.id ?? id;
    console.log(content?.parts?.map((part) => part.functionCall?.name ?? 'other').join());
  }
  return id;
}

async function complete(result: object): Promise<void> {
  const { callbackUrl, token } = await ordered.promise;
  const answer = await fetch(`${callbackUrl}/complete`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ result }),
  });
  console.log(answer.status);
}

async function textsOf(): Promise<string[]> {
  const session = await runner.sessionService.getSession(names);
  const events = session?.events.filter(({ author }) => author !== 'user') ?? [];
  return events.map((event) => stringifyContent(event)).filter((text) => text !== '');
}
