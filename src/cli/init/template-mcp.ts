import { APPROVAL_TEST, supportAgent, type TemplateAgent } from './template-agent.ts';

/** `holdfast init --template mcp`: an MCP server over standard input and output, and an agent with its tools. */
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
    // A server from npm: command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', folder].
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

${supportAgent({ tools: 'orders', lastAnswer: 'String(answer.response?.output)' })}`,
    'agents.test.ts': APPROVAL_TEST,
  },
  dependencies: { '@modelcontextprotocol/client': '^2.4.0', '@modelcontextprotocol/server': '^2.4.0' },
  about:
    'The agents are in `agents.ts`, their MCP server is `orders-server.ts`: ask "Where is A-2?", or "I want my\nmoney back for A-1", which a person approves.',
};
