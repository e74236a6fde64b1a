import {
  BasePlugin,
  FunctionTool,
  getFunctionCalls,
  getFunctionResponses,
  InMemorySessionService,
  LlmAgent,
  Runner,
  stringifyContent,
} from 'holdfast';
import { z } from 'zod';

/** Payouts that a plugin and callbacks guard: limits before a tool runs, secrets kept from the model, a count of calls. */
const LIMIT = 500;

/** Sees every turn of the app, before the agents' own callbacks. */
class NoSecrets extends BasePlugin {
  override async onUserMessageCallback({
    userMessage,
  }: Parameters<BasePlugin['onUserMessageCallback']>[0]): ReturnType<BasePlugin['onUserMessageCallback']> {
    const hide = (text: string) => text.replaceAll(/\b[A-Z]{2}\d{10,}\b/g, '(account number)');
    const parts = userMessage.parts?.map((part) => (part.text ? { ...part, text: hide(part.text) } : part));
    return { ...userMessage, parts };
  }

  override async beforeToolCallback({
    tool,
    toolArgs,
  }: Parameters<BasePlugin['beforeToolCallback']>[0]): ReturnType<BasePlugin['beforeToolCallback']> {
    const amount = Number(toolArgs.amount);
    return amount > LIMIT ? { error: `${tool.name} pays ${LIMIT} at most, not ${amount}` } : undefined;
  }
}

const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays an amount to a payee.',
  parameters: z.object({ payee: z.string(), amount: z.number(), currency: z.string().optional() }),
  execute: ({ payee, amount, currency }) => ({ paid: `${amount} ${currency} to ${payee}` }),
});

const cashier = new LlmAgent({
  name: 'cashier',
  model: 'gemini-2.5-flash',
  instruction: 'You pay what you are asked to pay.',
  tools: [pay],
  beforeModelCallback: ({ context, request }) => {
    context.state.set('model_calls', Number(context.state.get('model_calls') ?? 0) + 1);
    const asked = JSON.stringify(request.contents.at(-1));
    if (!asked.includes('casino')) return undefined;
    return { content: { role: 'model', parts: [{ text: 'I pay no casinos.' }] } };
  },
  beforeToolCallback: ({ args }) => {
    args.currency ??= 'EUR';
    return undefined;
  },
  afterToolCallback: ({ response }) => (response.error ? undefined : { ...response, receipt: 'R-1' }),
});

const sessionService = new InMemorySessionService();
const runner = new Runner({
  appName: 'payouts',
  agent: cashier,
  plugins: [new NoSecrets('no_secrets')],
  sessionService,
});
const names = { appName: 'payouts', userId: 'omar', sessionId: 'till-1' };
await sessionService.createSession(names);

const ORDERS = [
  'Pay 120 to the printer, account DE44500105175407.',
  'Pay 9000 to the printer.',
  'Pay 10 to the casino.',
];
for (const text of ORDERS) {
  for await (const event of runner.runAsync({
    userId: names.userId,
    sessionId: names.sessionId,
    newMessage: { role: 'user', parts: [{ text }] },
  })) {
    for (const { name, args } of getFunctionCalls(event)) console.log(`${name} ${JSON.stringify(args)}`);
    for (const { response } of getFunctionResponses(event)) console.log(`= ${JSON.stringify(response)}`);
    if (stringifyContent(event) !== '') console.log(`${event.author}: ${stringifyContent(event)}`);
  }
}

const session = await sessionService.getSession(names);
for (const event of session?.events ?? []) {
  if (event.author === 'user') console.log(`stored: ${stringifyContent(event)}`);
}
console.log(`asked ${session?.state.model_calls} times`);
