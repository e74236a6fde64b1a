import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { LlmAgent, tool } from 'holdfast';
import { calls, type GeminiScript, text } from 'holdfast/testing';
import { z } from 'zod';

const lookUp = tool({
  name: 'look_up',
  description: 'Looks up an order.',
  parameters: z.object({ id: z.string() }),
  ...(process.env.HEARTBEAT ? { heartbeatTimeout: Number(process.env.HEARTBEAT) } : {}),
  execute: async ({ id }) => {
    if (process.env.EFFECTS) appendFileSync(process.env.EFFECTS, `${id}\n`);
    while (process.env.GATE && !existsSync(process.env.GATE)) await setTimeout(20);
    return { id, status: 'shipped' };
  },
});

export const rootAgent = new LlmAgent({ name: 'orders', model: 'gemini-2.5-flash', tools: [lookUp] });
export const helper = new LlmAgent({ name: 'helper', model: 'gemini-2.5-flash' });

export const geminiScript: GeminiScript = (_request, { functionResponses, userText }) => {
  if (userText === 'fail') throw new Error('scripted failure');
  if (functionResponses.length > 0) return text(`Order ${functionResponses[0]?.response?.id} is shipped.`);
  return calls([{ name: 'look_up', args: { id: 'A-1' } }]);
};
