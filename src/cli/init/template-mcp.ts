import type { TemplateAgent } from './template-agent.ts';

/** Of `holdfast init --template mcp`: an MCP server over standard input and output, and an agent with its tools. */
export const mcpAgent: TemplateAgent = {
  files: {
    'orders-server.ts': `import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

// Stands for an MCP server of somebody else. Its standard output is the protocol's: print to standard error.
const orders = new Map([
  ['A-1', 'delivered'],
  ['A-2', 'shipped'],
]);

serveStdio(() => {
  const server = new McpServer({ name: 'orders', version: '1.0.0' });
  const inputSchema = z.object({ id: z.string() });
  server.registerTool(
    'find_order',
    { description: 'Finds an order by its id.', inputSchema },
    ({ id }) => {
      const status = orders.get(id);
      if (status === undefined) return failed(\`there is no order \${id}\`);
      return said(\`Order \${id} is \${status}.\`);
    },
  );
  server.registerTool(
    'refund',
    { description: 'Pays the price of an order back.', inputSchema },
    ({ id }) => (orders.has(id) ? said(\`Order \${id} is refunded.\`) : failed(\`there is no order \${id}\`)),
  );
  return server;
});

function said(text: string) {
  return { content: [{ type: 'text' as const, text }] };
}

function failed(text: string) {
  return { ...said(text), isError: true };
}
`,
    'agents.ts': `import { fileURLToPath } from 'node:url';
import { LlmAgent, MCPToolset } from 'holdfast';
import { calls, type GeminiScript, text } from 'holdfast/testing';

const orders = new MCPToolset(
  {
    type: 'StdioConnectionParams',
    // Of a server that npm has: command 'npx', args ['-y', '@modelcontextprotocol/server-filesystem', folder].
    serverParams: {
      command: process.execPath,
      args: [fileURLToPath(new URL('orders-server.ts', import.meta.url))],
    },
  },
  ['find_order', 'refund'],
  undefined,
  {
    // A person approves each refund. The server's other tools run at once.
    defaults: { requireConfirmation: (toolName) => toolName === 'refund' },
    tools: { find_order: { isReadOnly: true, idempotent: true } },
  },
);

export const rootAgent = new LlmAgent({
  name: 'support',
  description: 'Answers questions about orders, and refunds them.',
  model: 'gemini-2.5-flash',
  instruction: 'You help customers with their orders. Look an order up before you refund it.',
  tools: [orders],
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
  return text(String(answer.response?.output));
};
`,
    'agents.test.ts': `import assert from 'node:assert/strict';
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
`,
  },
  dependencies: { '@modelcontextprotocol/client': '^2.4.0', '@modelcontextprotocol/server': '^2.4.0' },
  about:
    'The agents are in `agents.ts`, their MCP server is `orders-server.ts`: ask "Where is A-2?", or "I want my\nmoney back for A-1", which a person approves.',
};
