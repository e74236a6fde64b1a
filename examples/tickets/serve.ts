import { BillingService } from './billing-service.ts';
import { TicketSystem } from './ticket-system.ts';

/** One of the two services, until Ctrl-C: `node serve.ts tickets`, `node serve.ts billing`. */
const { TICKETS_TOKEN: token = '', TICKETS_PORT, BILLING_KEY: key = '', BILLING_PORT } = process.env;
const [name] = process.argv.slice(2);
const log = console.log;

if (name === 'tickets' && token !== '') {
  const tickets = new TicketSystem({ token, port: Number(TICKETS_PORT || 8078), log });
  console.log(`serves at ${await tickets.open()}`);
} else if (name === 'billing' && key !== '') {
  const billing = new BillingService({ key, port: Number(BILLING_PORT || 8079), log });
  console.log(`serves at ${await billing.open()}`);
} else {
  console.error('set TICKETS_TOKEN or BILLING_KEY, and name one of: tickets, billing');
  process.exitCode = 1;
}
