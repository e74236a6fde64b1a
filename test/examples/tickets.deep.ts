import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { BillingService } from '../../examples/tickets/billing-service.ts';
import { TicketSystem } from '../../examples/tickets/ticket-system.ts';
import { HoldfastProcess } from '../cli/holdfast-process.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-tickets-'));
const program = fileURLToPath(new URL('../../examples/tickets/demo.ts', import.meta.url));
const closings: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('the billing service', () => {
  const refund = { cents: 39_90, reason: 'charged twice' };

  async function billing(): Promise<(path: string, body?: object, key?: string) => Promise<Response>> {
    const service = new BillingService({ key: 'of-billing' });
    closings.push(() => service.close());
    const url = await service.open();
    return async (path, body, key = 'call-1') =>
      await fetch(`${url}${path}`, {
        headers: { 'x-billing-key': 'of-billing', 'idempotency-key': key },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      });
  }

  test('pays back once under a key, and no more than was paid [example.tickets]', async () => {
    const ask = await billing();
    const first = await ask('/invoices/I-7012/refunds', refund);
    expect(first.status).toBe(201);
    expect(await first.json()).toEqual({ refund: 'R-0001', invoiceId: 'I-7012', ...refund });
    const again = await ask('/invoices/I-7012/refunds', refund);
    expect(await again.json()).toMatchObject({ refund: 'R-0001' });
    const more = await ask('/invoices/I-7012/refunds', refund, 'call-2');
    expect([more.status, await more.json()]).toEqual([409, { error: '€0.00 of I-7012 are left' }]);
    const { invoices } = (await (await ask('/customers/C-17/invoices')).json()) as {
      invoices: { id: string; refundedCents: number }[];
    };
    expect(invoices.map(({ id, refundedCents }) => [id, refundedCents])).toEqual([
      ['I-6904', 0],
      ['I-7011', 0],
      ['I-7012', 39_90],
    ]);
  });
});

describe('the ticket system', () => {
  test('closes a ticket once, for callers with its token only [example.tickets]', async () => {
    const said: string[] = [];
    const system = new TicketSystem({ token: 'of-the-desk', log: (line) => said.push(line) });
    closings.push(() => system.close());
    const url = await system.open();
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
    const client = new Client({ name: 'test', version: '1.0.0' });
    closings.unshift(() => client.close());
    const headers = { authorization: 'Bearer of-the-desk' };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    const close = async (key: string) =>
      await client.callTool({
        name: 'close_ticket',
        arguments: { id: 'T-1042', reply: 'Done.' },
        _meta: { 'holdfast/idempotency-key': key },
      });
    const closed = { status: 'closed', reply: 'Done.' };
    expect(await close('call-1')).toMatchObject({ structuredContent: closed });
    expect(await close('call-1')).toMatchObject({ structuredContent: closed });
    expect(await close('call-2')).toMatchObject({
      isError: true,
      content: [{ text: 'T-1042 is closed already' }],
    });
    expect(said).toEqual(['T-1042 is closed, and Ingrid Dahl has a mail']);
  });
});

test('one command reads by MCP and by the API, asks for one call of each, and each is done once [example.tickets] [mcp.gate] [openapi.writes]', async () => {
  const secrets = { TICKETS_TOKEN: 'secret-of-tickets', BILLING_KEY: 'secret-of-billing' };
  const demo = new HoldfastProcess(['--folder', join(work, '.holdfast'), '--stop-server'], {
    program,
    cwd: work,
    env: secrets,
  });
  const { code, stdout, stderr } = await demo.finished();
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const inOrder = [
    /tickets │ serves at http:\S+\/mcp/,
    /desk {2}→ read_ticket\(\{"id":"T-1042"\}\)/,
    /desk {2}→ list_invoices\(\{"customer_id":"C-17"\}\)/,
    /desk {2}asks for an approval: refund_invoice: Pay €39\.90 of I-7012 back: 2026-10 was charged twice\?/,
    /desk {2}← refund_invoice \{"refund":"R-0001"/,
    /desk {2}asks for an approval: close_ticket: Close T-1042, and write “We have paid €39\.90 back \(R-0001\)/,
    /desk {2}← close_ticket/,
    /desk {2}T-1042 is closed\. I have written to Ingrid Dahl/,
    /"id":"I-7012","month":"2026-10","cents":3990,"refundedCents":3990/,
    /http:\S+\/history/,
  ];
  let rest = stdout;
  for (const expected of inOrder) {
    expect(rest).toMatch(expected);
    rest = rest.slice(rest.search(expected) + 1);
  }
  expect(stdout.match(/rq-\S+ approved/g)).toHaveLength(2);
  expect(stdout.match(/billing │ R-\d+: .*/g)).toEqual(['billing │ R-0001: €39.90 of I-7012 are paid back']);
  expect(stdout.match(/tickets │ .* is closed/g)).toHaveLength(1);
  for (const secret of Object.values(secrets)) expect(stdout + stderr).not.toContain(secret);
});
