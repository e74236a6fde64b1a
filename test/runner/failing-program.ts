import { InMemoryRunner, LlmAgent } from '../../src/index.ts';

let isBusy = true;

const agent = new LlmAgent({
  name: 'desk',
  model: 'gemini-2.5-flash',
  modelRetry: { initialInterval: 1, maximumInterval: 1 },
  beforeModelCallback: function busyAtFirst() {
    if (isBusy) {
      isBusy = false;
      throw new Error('no room');
    }
    return undefined;
  },
});
const runner = new InMemoryRunner({ agent });
const newMessage = { role: 'user', parts: [{ text: 'one' }] };
for await (const event of runner.runEphemeral({ userId: 'ada', newMessage })) {
  console.log(event.content?.parts?.[0]?.text);
}
