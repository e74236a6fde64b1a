import { App, LlmAgent } from 'holdfast';
import { netAmount } from './net-amount.ts';
import { orderReport } from './order-report.ts';

export { reportScript as geminiScript } from './script.ts';

const analyst = new LlmAgent({
  name: 'analyst',
  model: 'gemini-2.5-flash',
  description: 'Orders sales reports, and answers small questions meanwhile.',
  instruction: `You help the owner of a shop with its figures.
- A report takes a while. Order it once, say so in a sentence, and go on with whatever is asked next; never order it again.
- When it is there, tell orders, revenue, the best day, and where the report is. Where it was cancelled, say why.
- Tools speak of cents; say euros.`,
  tools: [orderReport, netAmount],
});

export const app = new App({ name: 'report', rootAgent: analyst });
