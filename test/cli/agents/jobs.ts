import { appendFileSync } from 'node:fs';
import { App, LlmAgent, LongRunningFunctionTool } from 'holdfast';
import { call, type GeminiScript, text } from 'holdfast/testing';
import { z } from 'zod';

/** A line of the file that the variable names. */
function note(line: string): void {
  if (process.env.EFFECTS) appendFileSync(process.env.EFFECTS, `${line}\n`);
}

const parameters = z.object({ what: z.string() });

const build = new LongRunningFunctionTool({
  name: 'build',
  description: 'Builds something, which the turn waits for.',
  parameters,
  deadline: '1 day',
  execute: ({ what }) => {
    note(`build ${what}`);
    return undefined;
  },
  cancel: ({ args }) => note(`stop ${args.what}`),
});

const order = new LongRunningFunctionTool({
  name: 'order',
  description: 'Orders something, which comes later.',
  parameters,
  execute: ({ what }) => {
    note(`order ${what}`);
    return { ordered: what };
  },
  cancel: ({ args }) => note(`withdraw ${args.what}`),
});

const hide = new LongRunningFunctionTool({
  name: 'hide',
  description: 'Hides something, nobody is to know what.',
  parameters,
  sensitive: ['what'],
  execute: () => undefined,
});

export const app = new App({
  name: 'yard',
  rootAgent: new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools: [build, order, hide] }),
});

export const geminiScript: GeminiScript = (_request, { functionResponses, userText }) => {
  const [first] = functionResponses;
  if (first !== undefined) return text(`It came to ${JSON.stringify(first.response)}.`);
  const [, tool = '', what = ''] = /^(build|order|hide) (.+)$/.exec(userText) ?? [];
  return tool === '' ? text('Say build or order.') : call(tool, { what });
};
