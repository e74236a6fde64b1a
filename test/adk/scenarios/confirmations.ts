import { z } from 'zod';
import {
  type Content,
  type Event,
  getFunctionCalls,
  type Part,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
} from '../../../src/index.ts';
import { agentOf, toolOf, weatherOf } from '../cast.ts';
import type { Came, ComparableEvent } from '../comparable.ts';
import { afterThrow, withEvents } from '../differences.ts';
import type { Difference, Library, Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

type Reply = Record<string, unknown>;

/** A message that answers the open requests of a session, in the order in which they were made. */
const deciding =
  (...replies: Reply[]) =>
  (events: readonly Event[]): Content => {
    const asked = events
      .flatMap((event) => getFunctionCalls(event))
      .filter(({ name }) => name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME);
    return {
      role: 'user',
      parts: replies.map((response, index) => ({
        functionResponse: {
          name: REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
          response,
          ...withId(asked.at(index - replies.length)?.id),
        },
      })),
    };
  };

const withId = (id: string | undefined) => (id === undefined ? {} : { id });

const payOf = (
  library: Library,
  more: { requireConfirmation?: (args: { amount: number }) => boolean } = {},
) =>
  new library.FunctionTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    execute: ({ amount }) => ({ paid: amount }),
    requireConfirmation: true,
    retry: { maximumAttempts: 1 },
    ...more,
  });

const ANSWERED: Difference = {
  because:
    'An answer to a request goes to the turn that waits for it, and is no message of the session; ADK begins another invocation with it. A request skips no summary.',
  adk: answered,
};

/** Without the messages that answer. */
function answered(came: Came): Came {
  const isReply = ({ content }: ComparableEvent) =>
    content?.parts?.some(({ functionResponse }) => functionResponse?.name?.startsWith('adk_request_'));
  const unskipped = (event: ComparableEvent) => {
    if (event.actions.requestedToolConfirmations === undefined) return event;
    const { skipSummarization: _skip, ...actions } = event.actions;
    return { ...event, actions };
  };
  return {
    ...came,
    messages: came.messages.filter((event) => !isReply(event)),
    events: came.events.map((events) => events.map(unskipped)),
  };
}

const SIBLINGS =
  'A call beside one that waits for a person keeps its result; ADK drops it, and the model is told of the approved ' +
  'call only.';

/** With the response of a sibling, which both sides have run. */
function withSibling(came: Came, response: NonNullable<Part['functionResponse']>): Came {
  const added = (parts: Part[] = []) =>
    parts.some(({ functionResponse }) => functionResponse?.name === 'pay')
      ? [{ functionResponse: response }, ...parts]
      : parts;
  const { id: _id, ...told } = response;
  return {
    ...came,
    events: came.events.map((events) =>
      events.map((event) =>
        event.content === undefined
          ? event
          : { ...event, content: { ...event.content, parts: added(event.content.parts) } },
      ),
    ),
    requests: came.requests.map((request) => ({
      ...request,
      contents: request.contents.map((content) => ({
        ...content,
        parts: added(content.parts).map((part) =>
          part.functionResponse === response ? { functionResponse: told } : part,
        ),
      })),
    })),
  };
}

const INSIDE =
  'A tool that asks for a confirmation from inside runs again with the answer; ADK refuses the answer, unless the tool ' +
  'is gated as well.';

/** What comes of the answer that ADK refuses. */
function answeredInside(came: Came): Came {
  const [request] = came.requests;
  if (request === undefined) throw new Error('ADK has asked its model nothing');
  const author = came.events[0]?.[0]?.author;
  const response = { confirmed: true, payload: { size: 2 } };
  const [question] = request.contents;
  return {
    ...withEvents(afterThrow(came, /confirmation_not_required/), () => [
      {
        author,
        content: { role: 'user', parts: [{ functionResponse: { id: 'id-1', name: 'ask', response } }] },
        actions: {},
      },
      { author, content: { role: 'model', parts: [{ text: 'Done.' }] }, actions: {} },
    ]),
    notes: [...came.notes, ['ran', true]],
    requests: [
      request,
      {
        ...request,
        contents: [
          ...(question === undefined ? [] : [question]),
          { role: 'model', parts: [{ functionCall: { name: 'ask', args: {} } }] },
          { role: 'user', parts: [{ functionResponse: { name: 'ask', response } }] },
        ],
      },
    ],
  };
}

/** Calls that wait for a person's approval. */
export const CONFIRMATIONS: readonly Scenario[] = [
  {
    name: 'a call that is approved',
    script: [[calls(['pay', { amount: 5 }])], [text('Paid.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { tools: [payOf(library)] }) }),
    turns: ['pay 5', { message: deciding({ confirmed: true }) }],
    differs: ANSWERED,
  },
  {
    name: 'a call that is rejected',
    script: [[calls(['pay', { amount: 5 }])], [text('Not paid.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { tools: [payOf(library)] }) }),
    turns: ['pay 5', { message: deciding({ confirmed: false }) }],
    differs: ANSWERED,
  },
  {
    name: 'an approval as JSON in a text',
    script: [[calls(['pay', { amount: 5 }])], [text('Paid.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { tools: [payOf(library)] }) }),
    turns: ['pay 5', { message: deciding({ response: '{"confirmed":true}' }) }],
    differs: ANSWERED,
  },
  {
    name: 'a predicate that asks for one of two calls',
    script: [[calls(['pay', { amount: 5 }], ['pay', { amount: 500 }])], [text('Paid twice.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [payOf(library, { requireConfirmation: ({ amount }) => amount > 100 })],
      }),
    }),
    turns: ['pay 5 and 500', { message: deciding({ confirmed: true }) }],
    differs: {
      because: SIBLINGS,
      adk: (came) => withSibling(answered(came), { id: 'id-1', name: 'pay', response: { paid: 5 } }),
    },
  },
  {
    name: 'two calls of which one is rejected',
    script: [[calls(['pay', { amount: 5 }], ['pay', { amount: 6 }])], [text('Paid once.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { tools: [payOf(library)] }) }),
    turns: ['pay 5 and 6', { message: deciding({ confirmed: true }, { confirmed: false }) }],
    differs: ANSWERED,
  },
  {
    name: 'a sibling that is not gated',
    script: [[calls(['weather', { city: 'Oslo' }], ['pay', { amount: 5 }])], [text('Cold, and paid.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library), payOf(library)] }),
    }),
    turns: ['weather, then pay 5', { message: deciding({ confirmed: true }) }],
    differs: {
      because: SIBLINGS,
      adk: (came) => withSibling(answered(came), { id: 'id-1', name: 'weather', response: { celsius: 3 } }),
    },
  },
  {
    name: 'a tool that asks from inside',
    script: [[calls(['ask'])], [text('Done.')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'ask', (_args, context) => {
            note('ran', context.toolConfirmation?.confirmed);
            if (context.toolConfirmation === undefined) {
              context.requestConfirmation({ hint: 'Sure?', payload: { size: 1 } });
              return { status: 'asked' };
            }
            return {
              confirmed: context.toolConfirmation.confirmed,
              payload: context.toolConfirmation.payload,
            };
          }),
        ],
      }),
    }),
    turns: ['ask', { message: deciding({ confirmed: true, payload: { size: 2 } }) }],
    differs: { because: INSIDE, adk: (came) => answeredInside(answered(came)) },
  },
];
