import { AgentTool, LlmAgent, tool } from 'holdfast';
import { call, type GeminiScript, text } from 'holdfast/testing';

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  requireConfirmation: true,
  confirmationHint: () => 'Pay 5 EUR?',
  execute: () => ({ paid: 5 }),
});
const model = 'gemini-2.5-flash';
const payer = new LlmAgent({ name: 'payer', model, instruction: 'You are the payer.', tools: [pay] });
const critic = new LlmAgent({ name: 'critic', model, instruction: 'You are the critic.' });

export const rootAgent = new LlmAgent({
  name: 'desk',
  model,
  instruction: 'You are the desk.',
  tools: [new AgentTool({ agent: payer })],
  subAgents: [critic],
});

export const geminiScript: GeminiScript = ({ systemInstruction }, { functionResponses }) => {
  const told = JSON.stringify(systemInstruction);
  const answered = functionResponses.length > 0;
  if (told.includes('You are the critic.')) return text('Could be better.');
  if (told.includes('You are the payer.')) return answered ? text('It is paid.') : call('pay');
  return answered ? text('Done.') : call('payer', { request: 'pay 5' });
};
