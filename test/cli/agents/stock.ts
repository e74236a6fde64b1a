import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { LlmAgent, tool } from 'holdfast';
import { call, type GeminiScript, text } from 'holdfast/testing';

const count = tool({
  name: 'count',
  description: 'Counts what is in stock.',
  execute: async () => {
    if (process.env.EFFECTS) appendFileSync(process.env.EFFECTS, 'counted\n');
    while (process.env.GATE && !existsSync(process.env.GATE)) await setTimeout(20);
    return { pieces: 3 };
  },
});

export const rootAgent = new LlmAgent({ name: 'stock', model: 'gemini-2.5-flash', tools: [count] });

export const geminiScript: GeminiScript = (_request, { functionResponses }) =>
  functionResponses.length > 0 ? text('Three are left.') : call('count');
