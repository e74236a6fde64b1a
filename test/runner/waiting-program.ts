import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import {
  type Event,
  getFunctionCalls,
  InMemoryRunner,
  LlmAgent,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  StreamingMode,
  tool,
} from '../../src/index.ts';
import { calls, ScriptedLlm, text } from '../adk/scripted-llm.ts';

/**
 * A turn that waits for a person, the environment suspended meanwhile; the answer goes on with it. Then one with words behind it, another one that nobody
 * answers, and another whose reader leaves: the program ends by itself.
 */
const keeper = new Worker('setInterval(() => undefined, 1e9)', { eval: true });
const before = JSON.stringify(process.getActiveResourcesInfo().sort());

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: true,
  execute: ({ amount }) => ({ paid: amount }),
});
const ask = (amount: number) => [calls(['pay', { amount }])];
const model = new ScriptedLlm('gemini-2.5-flash', [
  ask(5),
  [text('Paid.')],
  ask(8),
  [text('Paid, too.')],
  [text('Hello.')],
  ask(6),
  ask(7),
]);
const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'desk', model, tools: [pay] }) });

const shown = ({ content }: Event) =>
  content?.parts?.map(
    (part) => part.text ?? part.functionCall?.name ?? JSON.stringify(part.functionResponse?.response),
  );
const session = async (sessionId: string) => {
  const names = { appName: runner.appName, userId: 'ada', sessionId };
  await runner.sessionService.createSession(names);
  return names;
};

const names = await session('s1');
const runConfig = { streamingMode: StreamingMode.SSE };
const requests: (string | undefined)[] = [];
for await (const event of runner.runAsync({
  ...names,
  newMessage: { parts: [{ text: 'pay 5' }] },
  runConfig,
})) {
  console.log(...(shown(event) ?? []));
  for (const { name, id } of getFunctionCalls(event)) {
    if (name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME) requests.push(id);
  }
}
// Until nothing keeps this process but the thread: then its environment was suspended.
while (JSON.stringify(process.getActiveResourcesInfo().sort()) !== before) {
  await setTimeout(20, undefined, { ref: false });
}
console.log('suspended');
const approval = () => ({
  role: 'user',
  parts: requests.splice(0).map((id) => ({
    functionResponse: {
      ...(id === undefined ? {} : { id }),
      name: REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
      response: { confirmed: true },
    },
  })),
});
for await (const event of runner.runAsync({ ...names, newMessage: approval(), runConfig }))
  console.log(...(shown(event) ?? []));

for await (const event of runner.runAsync({ ...names, newMessage: { parts: [{ text: 'pay 8' }] } })) {
  for (const { name, id } of getFunctionCalls(event)) {
    if (name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME) requests.push(id);
  }
}
// Words behind it: an event says that they are queued, and their answer comes after that of the approval.
for await (const event of runner.runAsync({ ...names, newMessage: { parts: [{ text: 'hello' }] } })) {
  console.log(...(shown(event) ?? []));
  if (requests.length === 0) continue;
  for await (const approved of runner.runAsync({ ...names, newMessage: approval() }))
    console.log(...(shown(approved) ?? []));
}

const unanswered = { ...(await session('s2')), newMessage: { parts: [{ text: 'pay 6' }] } };
for await (const event of runner.runAsync(unanswered)) console.log(...(shown(event) ?? []));
const left = { ...(await session('s3')), newMessage: { parts: [{ text: 'pay 7' }] } };
for await (const event of runner.runAsync(left)) {
  console.log(...(shown(event) ?? []), 'and leaves');
  break;
}
await keeper.terminate();
