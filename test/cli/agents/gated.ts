import { appendFileSync } from 'node:fs';
import { App, LlmAgent, requestInputTool, tool } from 'holdfast';
import { calls, type GeminiScript, text } from 'holdfast/testing';
import { z } from 'zod';

const parameters = z.object({ order: z.string(), amount: z.number().positive() });

/** Each refund is a line of the file that the variable names. */
function pay({ order, amount }: z.infer<typeof parameters>) {
  if (process.env.EFFECTS) appendFileSync(process.env.EFFECTS, `${order} ${amount}\n`);
  return { refunded: amount };
}

const refund = tool({
  name: 'refund',
  description: 'Pays an order back.',
  parameters,
  requireConfirmation: true,
  confirmationHint: ({ order, amount }) => `Refund ${amount} EUR of ${order}?`,
  approval: { allowEdit: true },
  execute: pay,
});

const bigRefund = tool({
  name: 'big_refund',
  description: 'Pays a large order back.',
  parameters,
  requireConfirmation: true,
  approval: { approvers: ['mira'] },
  execute: pay,
});

const charge = tool({
  name: 'charge',
  description: 'Charges a card.',
  parameters: z.object({}),
  authConfig: { authScheme: { type: 'http', scheme: 'bearer' }, credentialKey: 'cards' },
  execute: (_args, ctx) => {
    const token = ctx?.authCredential?.http?.credentials.token ?? '';
    return { characters: token.length, fits: token === process.env.SECRET };
  },
});

/** One of `holdfast keys create`. */
const issuers = process.env.ISSUER ? [JSON.parse(process.env.ISSUER)] : [];

export const app = new App({
  name: 'desk',
  rootAgent: new LlmAgent({
    name: 'clerk',
    model: 'gemini-2.5-flash',
    tools: [refund, bigRefund, charge, requestInputTool],
  }),
  durable: { approval: { issuers } },
});

const QUESTION = {
  message: 'Which size?',
  response_schema: { type: 'object', properties: { size: { enum: ['S', 'L'] } }, required: ['size'] },
};

export const geminiScript: GeminiScript = (_request, { functionResponses, userText }) => {
  const [first] = functionResponses;
  if (first !== undefined) return text(`It came to ${JSON.stringify(first.response)}.`);
  if (userText === 'ask') return calls([{ name: 'adk_request_input', args: QUESTION }]);
  if (userText === 'charge') return calls([{ name: 'charge', args: {} }]);
  return calls([{ name: userText === 'big' ? 'big_refund' : 'refund', args: { order: 'A-1', amount: 102 } }]);
};
