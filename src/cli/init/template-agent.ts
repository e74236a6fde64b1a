/** The part of a project that is its template's own. */
export interface TemplateAgent {
  /** Sources and documents, by path; `agents.ts` and `agents.test.ts` are among them. */
  files: Record<string, string>;
  /** Packages beside those of every project. */
  dependencies: Record<string, string>;
  /** Told in the README: the agents' files, and a question that the scripted words answer. */
  about: string;
}

/** The end of `agents.ts`: the agent, and its script. These are TypeScript: the tools' names, the model, and the last answer. */
export function supportAgent(code: { tools: string; model?: string; lastAnswer: string }): string {
  const { tools, model = "'gemini-2.5-flash'", lastAnswer } = code;
  return `export const rootAgent = new LlmAgent({
  name: 'support',
  description: 'Answers questions about orders, and refunds them.',
  model: ${model},
  instruction: 'You help customers with their orders. Look an order up before you refund it.',
  tools: [${tools}],
});

/** Answers of the local mock Gemini server while there is no key. */
export const geminiScript: GeminiScript = (_request, { userText, functionResponses }) => {
  const id = /\\b[A-Z]-\\d+\\b/.exec(userText)?.[0] ?? 'A-1';
  const [answer] = functionResponses;
  if (answer === undefined) return calls([{ name: 'find_order', args: { id } }]);
  const error = answer.response?.error;
  if (error !== undefined) return text(\`Order \${id}: \${answer.name} failed: \${error}\`);
  if (answer.name === 'find_order' && /refund|money back/i.test(userText))
    return calls([{ name: 'refund', args: { id } }]);
  return text(${lastAnswer});
};
`;
}

/** `agents.test.ts` of a project where a person approves each refund. */
export const APPROVAL_TEST = `import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTestEnvironment } from 'holdfast/testing';
import { geminiScript, rootAgent } from './agents.ts';

const env = await createTestEnvironment({ agents: [rootAgent], script: geminiScript });
after(() => env.close());

test('an order is looked up', async () => {
  const turn = await env.run('Where is A-2?');
  assert.equal(turn.text, 'Order A-2 is shipped.');
});

test('a refund waits for a person', async () => {
  const sent = await env.send('I want my money back for A-1');
  await env.approve(sent);
  const turn = await env.turnOf(sent);
  assert.equal(turn.text, 'Order A-1 is refunded.');
});
`;
