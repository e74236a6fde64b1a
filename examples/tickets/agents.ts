import { App, LlmAgent, MCPToolset, OpenAPIToolset } from 'holdfast';
import { euros } from '../refunds/euros.ts';

export { ticketsScript as geminiScript } from './script.ts';

const { TICKETS_URL, BILLING_URL } = process.env;
const billingUrl = BILLING_URL || 'http://127.0.0.1:8079';

const tickets = new MCPToolset(
  { type: 'StreamableHTTPConnectionParams', url: TICKETS_URL || 'http://127.0.0.1:8078/mcp' },
  // The server has delete_ticket, too; this agent hasn't.
  ['read_ticket', 'close_ticket'],
  undefined,
  {
    headers: () => ({ authorization: `Bearer ${process.env.TICKETS_TOKEN}` }),
    tools: {
      read_ticket: { isReadOnly: true, idempotent: true },
      close_ticket: {
        requireConfirmation: true,
        confirmationHint: ({ id, reply }) => `Close ${id}, and write “${reply}”?`,
        approval: { expiresIn: '2 days' },
        summary: ({ id }) => String(id),
        // The ticket system knows the key of a call: a second attempt closes nothing twice.
        idempotent: true,
      },
    },
  },
);

const billing = new OpenAPIToolset({
  specUrl: `${billingUrl}/openapi.json`,
  server: billingUrl,
  // Without TLS, and on this machine: only by name.
  allow: [new URL(billingUrl).host],
  include: { tags: ['invoices'] },
  credentials: { billingKey: { env: 'BILLING_KEY' } },
  requireConfirmation: 'writes',
  approval: { expiresIn: '2 days' },
  // A service that restarts is asked again, for about three minutes.
  toolOptions: { retry: { maximumAttempts: 20, maximumInterval: '10s' } },
  options: {
    refundInvoice: {
      confirmationHint: ({ invoice_id: invoice, cents, reason }) =>
        `Pay ${euros(Number(cents))} of ${invoice} back: ${reason}?`,
      summary: ({ invoice_id: invoice }) => String(invoice),
      // The service knows the key of a call, which is sent as Idempotency-Key.
      onUnknownOutcome: 'retry',
    },
  },
});

const desk = new LlmAgent({
  name: 'desk',
  model: 'gemini-2.5-flash',
  description: 'Answers tickets of customers of Fjordnett.',
  instruction: `You answer tickets of customers of Fjordnett, who pay for their internet by the month.
- Read the ticket, and look at the customer's invoices, before you decide anything.
- Two invoices of one month are a mistake of ours. Pay the newer one back, whole, and only where the customer asks for it.
- Then close the ticket with a short, kind reply that names the refund. Tools speak of cents; say euros.
- People decide about refunds and replies. Where one is rejected, say why, and don't try again.`,
  tools: [tickets, billing],
});

export const app = new App({ name: 'tickets', rootAgent: desk });
