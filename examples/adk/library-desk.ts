import { FunctionTool, InMemoryRunner, isFinalResponse, LlmAgent, stringifyContent } from 'holdfast';
import { z } from 'zod';

/** The desk of a lending library: tools that read and write the state, over two turns of one session. */
const SHELVES: Record<string, { title: string; copies: number }> = {
  'B-7': { title: 'The Tide Tables of Fjordane', copies: 1 },
  'B-9': { title: 'Keeping Bees in the North', copies: 0 },
};

const findBook = new FunctionTool({
  name: 'find_book',
  description: 'Finds a book by its shelf mark and says how many copies are in.',
  parameters: z.object({ mark: z.string().describe('for example B-7') }),
  execute: ({ mark }) => SHELVES[mark] ?? { error: `no book has the mark ${mark}` },
});

const lendBook = new FunctionTool({
  name: 'lend_book',
  description: 'Lends a book to the reader.',
  parameters: z.object({ mark: z.string(), weeks: z.number().int().max(4).default(2) }),
  execute: ({ mark, weeks }, context) => {
    const loans = context?.state.get<string[]>('user:loans') ?? [];
    if ((SHELVES[mark]?.copies ?? 0) === 0) throw new Error(`no copy of ${mark} is in`);
    context?.state.set('user:loans', [...loans, mark]);
    context?.state.set('last_loan', { mark, weeks });
    return { lent: mark, weeks, loans: loans.length + 1 };
  },
});

const desk = new LlmAgent({
  name: 'library_desk',
  model: 'gemini-2.5-flash',
  description: 'Lends books.',
  instruction: 'You serve {user:name} at the desk of a library. They have lent {user:loans?} so far.',
  tools: [findBook, lendBook],
  outputKey: 'last_answer',
});

const runner = new InMemoryRunner({ agent: desk, appName: 'library' });
const { id: sessionId } = await runner.sessionService.createSession({
  appName: 'library',
  userId: 'ingrid',
  state: { 'user:name': 'Ingrid' },
});

for (const text of ['Is B-7 in? Then I take it for three weeks.', 'And B-9, please.']) {
  console.log(`> ${text}`);
  const newMessage = { role: 'user', parts: [{ text }] };
  for await (const event of runner.runAsync({ userId: 'ingrid', sessionId, newMessage })) {
    for (const { functionCall, functionResponse } of event.content?.parts ?? []) {
      if (functionCall) console.log(`${functionCall.name} ${JSON.stringify(functionCall.args)}`);
      if (functionResponse) console.log(`= ${JSON.stringify(functionResponse.response)}`);
    }
    if (isFinalResponse(event)) console.log(stringifyContent(event));
  }
}

const session = await runner.sessionService.getSession({ appName: 'library', userId: 'ingrid', sessionId });
for (const [key, value] of Object.entries(session?.state ?? {}).sort()) {
  console.log(`${key}: ${JSON.stringify(value)}`);
}
