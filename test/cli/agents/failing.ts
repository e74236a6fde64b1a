import { BasePlugin, LlmAgent, tool } from 'holdfast';
import { call, type GeminiScript, text } from 'holdfast/testing';

const fails = tool({
  name: 'fails',
  description: 'Fails always.',
  retry: { maximumAttempts: 2, initialInterval: 1, maximumInterval: 1 },
  execute: function ruinedByItself() {
    throw new Error('no luck');
  },
});

class Careless extends BasePlugin {
  override afterRunCallback(): Promise<void> {
    throw new Error('no time');
  }
}

export const plugins = [new Careless('careless')];

let isBusy = true;

export const rootAgent = new LlmAgent({
  name: 'failing',
  model: 'gemini-2.5-flash',
  tools: [fails],
  modelRetry: { initialInterval: 1, maximumInterval: 1 },
  beforeModelCallback: function busyAtFirst() {
    if (isBusy) {
      isBusy = false;
      throw new Error('no room');
    }
    return undefined;
  },
});

export const geminiScript: GeminiScript = (_request, { functionResponses }) =>
  functionResponses.length > 0 ? text('It did not work.') : call('fails');
