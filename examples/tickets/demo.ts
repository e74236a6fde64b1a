import { randomUUID } from 'node:crypto';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Command } from '../terminal/command.ts';
import type { Invoice } from './billing-service.ts';

interface Request {
  requestId: string;
  tool: string;
}

const { values } = parseArgs({
  options: { folder: { type: 'string', default: '.holdfast' }, 'stop-server': { type: 'boolean' } },
});
const folder = values.folder === '.holdfast' ? [] : ['--folder', values.folder];
const stop = values['stop-server'] ? ['--stop-server'] : [];
const agents = pathOf('agents.ts');
const session = `desk-${randomUUID().slice(0, 8)}`;
// What a real model decides is its own affair.
for (const key of ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_API_KEY']) delete process.env[key];
process.env.TICKETS_TOKEN ||= randomUUID();
process.env.BILLING_KEY ||= randomUUID();

say('Two services that know nothing of agents: tickets by MCP, billing by HTTP and OpenAPI.');
await using tickets = serve('tickets', { TICKETS_PORT: '0' });
await using billing = serve('billing', { BILLING_PORT: '0' });
const [, ticketsUrl = ''] = await tickets.prints(/serves at (\S+)/);
const [, billingUrl = ''] = await billing.prints(/serves at (\S+)/);

say('The agent reads the ticket by MCP, and the invoices by the API. Then it asks.');
const turn = new Command(
  ['run', agents, '--session', session, '--message', 'Please answer T-1042.', ...folder, ...stop],
  { env: { TICKETS_URL: ticketsUrl, BILLING_URL: billingUrl }, margin: '  run     │ ' },
);
const [, link = ''] = await turn.prints(/Temporal UI (\S+)/);
const refund = await asked('refund_invoice', 1);

say('A write of the API waits for a person: money goes back.');
await holdfast(['approvals', 'list', '--session', session]);
await holdfast(['approvals', 'approve', refund.requestId]);
const closing = await asked('close_ticket', 2);

say('A tool of the MCP server waits for a person: a customer gets a mail.');
await holdfast(['approvals', 'approve', closing.requestId]);
await turn.ends();

say('What billing says now:');
const path = '/customers/C-17/invoices';
const { BILLING_KEY: key } = process.env;
const answer = await fetch(`${billingUrl}${path}`, { headers: { 'x-billing-key': key } });
const { invoices } = (await answer.json()) as { invoices: Invoice[] };
console.log(`$ curl -H "x-billing-key: $BILLING_KEY" ${billingUrl}${path}`);
for (const invoice of invoices) console.log(`  ${JSON.stringify(invoice)}`);
const refunded = invoices.filter(({ refundedCents }) => refundedCents > 0).map(({ id }) => id);
if (refunded.join() !== 'I-7012') throw new Error(`only I-7012 should be paid back: ${refunded.join()}`);

say('Each call, and each wait, is in the Temporal UI:');
console.log(`  ${link}`);

function say(text: string): void {
  console.log(`\n# ${text}`);
}

function serve(name: string, env: Record<string, string>): Command {
  return new Command([name], { program: pathOf('serve.ts'), env, margin: `  ${name.padEnd(7)} │ ` });
}

/** The only request that waits, once the turn has asked so many times. */
async function asked(tool: string, count: number): Promise<Request> {
  await turn.prints(/approvals reject/, count);
  const list = new Command(['approvals', 'list', '--session', session, '--json', ...folder], { quiet: true });
  await list.ends();
  const { approvals }: { approvals: Request[] } = JSON.parse(list.output);
  const [request] = approvals;
  if (request?.tool === tool && approvals.length === 1) return request;
  throw new Error(`${tool} should wait, and these do: ${list.output}`);
}

async function holdfast(words: readonly string[]): Promise<void> {
  await new Command([...words, ...folder]).ends();
}

function pathOf(file: string): string {
  return relative(process.cwd(), join(import.meta.dirname, file));
}
