import { App, LlmAgent } from 'holdfast';
import { defineGateway } from 'holdfast/gateway';
import { mailNotifier } from './mail.ts';
import { issuers } from './people.ts';
import { refund } from './refund.ts';
import { theatreSlack } from './slack.ts';

export { refundsScript as geminiScript } from './script.ts';

const cashier = new LlmAgent({
  name: 'cashier',
  model: 'gemini-2.5-flash',
  description: 'Pays bookings back.',
  instruction: `You help the box office of the Lindenhof theatre to pay bookings back.
- Refund exactly what you are asked for, each booking by one call, all of them at once.
- Tools speak of cents; say euros. Name the receipts, and the amounts that were really paid: approvers may change them.
- Where a refund is rejected, say why, and don't try again.`,
  tools: [refund],
});

const slack = theatreSlack();
const { REFUNDS_MAILBOX: mailbox } = process.env;

export const app = new App({
  name: 'refunds',
  rootAgent: cashier,
  durable: {
    approval: { issuers: issuers() },
    notifiers: [...(slack ? [slack.notifier] : []), ...(mailbox ? [mailNotifier(mailbox)] : [])],
  },
});

export const gateway = defineGateway(slack ? { slack: slack.gateway } : {});
