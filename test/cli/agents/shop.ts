import { App, LlmAgent } from 'holdfast';

const seller = new LlmAgent({ name: 'seller', model: 'gemini-2.5-flash' });
export const helper = new LlmAgent({ name: 'helper', model: 'gemini-2.5-flash' });

export const app = new App({
  name: 'corner-shop',
  rootAgent: seller,
  durable: { retention: '90 days', budgets: { turn: { modelCalls: 20 } } },
});
