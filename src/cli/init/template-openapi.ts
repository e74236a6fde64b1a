import { APPROVAL_TEST, supportAgent, type TemplateAgent } from './template-agent.ts';

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Orders', version: '1.0.0' },
  servers: [{ url: '/' }],
  paths: {
    '/orders/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      get: {
        operationId: 'findOrder',
        summary: 'Finds an order by its id.',
        responses: { 200: { description: 'The order.' } },
      },
    },
    '/orders/{id}/refund': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      post: {
        operationId: 'refund',
        summary: 'Pays the price of an order back.',
        responses: { 200: { description: 'The order.' } },
      },
    },
  },
};

/** `holdfast init --template openapi`: a service with its document, and an agent with a tool for each operation. */
export const openApiAgent: TemplateAgent = {
  files: {
    'openapi.json': `${JSON.stringify(DOCUMENT, null, 2)}\n`,
    'orders-service.ts': `import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands for a service of yours. Gives its address; it keeps no process up. */
export async function startService(): Promise<string> {
  const orders = new Map([
    ['A-1', { id: 'A-1', status: 'delivered' }],
    ['A-2', { id: 'A-2', status: 'shipped' }],
  ]);
  const server = createServer((request, response) => {
    const [, , id = '', action] = (request.url ?? '').split('/');
    const order = orders.get(id);
    // A second request with the key of the first finds the order refunded, and changes nothing.
    if (order !== undefined && request.method === 'POST' && action === 'refund') order.status = 'refunded';
    response.writeHead(order === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(order ?? { message: \`there is no order \${id}\` }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return \`http://127.0.0.1:\${(server.address() as AddressInfo).port}\`;
}
`,
    'agents.ts': `import { LlmAgent, OpenAPIToolset } from 'holdfast';
import { calls, type GeminiScript, text } from 'holdfast/testing';
import { startService } from './orders-service.ts';

// In its place, give the address of a service that runs elsewhere.
const server = await startService();

const orders = new OpenAPIToolset({
  specUrl: new URL('openapi.json', import.meta.url),
  server,
  // Without TLS, and hosts that aren't on the public internet, only by name.
  allow: [new URL(server).host],
  // A person approves each call that isn't a read.
  requireConfirmation: 'writes',
});

${supportAgent({ tools: 'orders', lastAnswer: `\`Order \${id} is \${answer.response?.status}.\`` })}`,
    'agents.test.ts': APPROVAL_TEST,
  },
  dependencies: {},
  about:
    'The agents are in `agents.ts`, the API is described by `openapi.json` and served by\n`orders-service.ts`: ask "Where is A-2?", or "I want my money back for A-1", which a person approves.',
};
