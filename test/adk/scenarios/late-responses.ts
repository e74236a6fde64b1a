import { type Content, type Event, getFunctionCalls } from '../../../src/index.ts';
import { agentOf, askWeather, toolOf, weatherOf } from '../cast.ts';
import {
  CONTINUES,
  continuing,
  endedBy,
  KEPT,
  merged,
  NO_OUTPUT,
  replaced,
  withEvents,
} from '../differences.ts';
import type { Difference, Scenario } from '../scenario.ts';
import { calls, parts, text } from '../scripted-llm.ts';

/** A message that answers the latest call of a tool. */
const answering =
  (answers: Record<string, Record<string, unknown>>, ...more: NonNullable<Content['parts']>) =>
  (events: readonly Event[]): Content => {
    const asked = events.flatMap((event) => getFunctionCalls(event)).toReversed();
    const responses = Object.entries(answers).map(([name, response]) => {
      const { id } = asked.find((call) => call.name === name) ?? {};
      return { functionResponse: { name, response, ...(id === undefined ? {} : { id }) } };
    });
    return { role: 'user', parts: [...responses, ...more] };
  };

const LATE: Difference = {
  because:
    'A call that is answered late stands where its latest response came, after all later messages, and so do the words beside the response; ADK leaves out the messages between in that turn, and has the call in its old place later.',
  plays: { keepsTalk: true },
  adk: (came) => merged(continuing(came)),
};

/** Responses that come with a later message. */
export const LATE_RESPONSES: readonly Scenario[] = [
  {
    name: 'a long-running tool that is updated twice',
    script: [
      [calls(['approve', { amount: 5 }])],
      [text('Asked.')],
      [text('Still waiting.')],
      [text('Approved.')],
      [text('Bye.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        tools: [
          new library.LongRunningFunctionTool({
            name: 'approve',
            description: 'Asks for approval.',
            execute: () => ({ status: 'pending', ticket: 7 }),
          }),
        ],
      }),
    }),
    turns: [
      'pay 5',
      { message: answering({ approve: { status: 'seen' } }) },
      { message: answering({ approve: { status: 'approved' } }) },
      'thanks',
    ],
    differs: {
      because: NO_OUTPUT,
      plays: { keepsTalk: true },
      adk: (came) =>
        merged(continuing(replaced(came, '"actions":{"stateDelta":{"said":""}}', '"actions":{}'))),
    },
  },
  {
    name: 'a late response behind other turns',
    script: [
      [calls(['approve'])],
      [text('Asked.')],
      [text('Three.')],
      [askWeather()],
      [text('Four.')],
      [text('Approved.')],
      [text('Bye.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'approve', () => ({ status: 'pending' }), { isLongRunning: true }),
          weatherOf(library),
        ],
      }),
    }),
    turns: ['pay', 'chat', 'weather?', { message: answering({ approve: { status: 'approved' } }) }, 'thanks'],
    differs: LATE,
  },
  {
    name: 'several calls, one of them late',
    script: [
      [calls(['weather', { city: 'Oslo' }], ['approve'], ['weather', { city: 'Bergen' }])],
      [text('Asked.')],
      [text('Approved.')],
      [text('Bye.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'approve', () => ({ status: 'pending' }), { isLongRunning: true }),
          weatherOf(library, ({ city }) => ({ city })),
        ],
      }),
    }),
    turns: ['pay', { message: answering({ approve: { status: 'approved' } }) }, 'thanks'],
    differs: LATE,
  },
  {
    name: 'a long-running tool that nobody has answered yet',
    script: [[calls(['approve'])], [text('Asked.')], [text('Not yet.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [toolOf(library, 'approve', () => ({ status: 'pending' }), { isLongRunning: true })],
      }),
    }),
    turns: ['pay', 'and?'],
    differs: CONTINUES,
  },
  {
    name: 'a long-running tool without a result',
    script: [[calls(['approve'])], [text('Asked.')], [text('Approved.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [toolOf(library, 'approve', () => undefined, { isLongRunning: true })],
      }),
    }),
    turns: ['pay', { message: answering({ approve: { status: 'approved' } }) }],
    differs: {
      because:
        'A long-running tool that returns nothing has its turn wait, and the end of its job is an event of that turn; in ADK the ' +
        'turn ends, and a message of the user goes on.',
      adk: (came) => {
        const [asked, answer] = came.messages;
        if (asked === undefined || answer === undefined) throw new Error('ADK has stored no answer');
        const author = came.events[0]?.[0]?.author;
        return withEvents({ ...came, messages: [asked] }, (events) => [{ ...answer, author }, ...events]);
      },
    },
  },
  {
    name: 'a description of a long-running tool that is empty',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          new library.LongRunningFunctionTool({ name: 'wait', description: '', execute: () => 'x' }),
          toolOf(library, 'other', () => 'x', { isLongRunning: true }),
        ],
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a late response with words',
    script: [[calls(['approve'])], [text('Asked.')], [text('Approved.')], [text('Bye.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [toolOf(library, 'approve', () => ({ status: 'pending' }), { isLongRunning: true })],
      }),
    }),
    turns: [
      'pay',
      { message: answering({ approve: { status: 'approved' } }, { text: 'I said yes.' }) },
      'thanks',
    ],
    differs: LATE,
  },
  {
    name: 'words beside an answer that a later one replaces',
    script: [[calls(['approve'])], [text('Asked.')], [text('Hm.')], [text('Approved.')], [text('Bye.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [toolOf(library, 'approve', () => ({ status: 'pending' }), { isLongRunning: true })],
      }),
    }),
    turns: [
      'pay',
      { message: answering({ approve: { status: 'seen' } }, { text: 'I said maybe.' }) },
      { message: answering({ approve: { status: 'approved' } }) },
      'thanks',
    ],
    differs: LATE,
  },
  {
    name: 'a run that pauses on calls',
    script: [[askWeather()], [text('Three.')]],
    runConfig: { pauseOnToolCalls: true },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        tools: [weatherOf(library, () => ({ never: true }))],
        afterAgentCallback: () => ({ role: 'model', parts: [{ text: 'behind' }] }),
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'a run that pauses on calls, and is answered',
    script: [
      [
        parts(
          { text: 'Let me see.' },
          { functionCall: { name: 'weather', args: { city: 'Oslo' } } },
          { functionCall: { name: 'ping', args: {} } },
        ),
      ],
      [text('Three.')],
      [calls(['ping'])],
      [text('Pong.')],
    ],
    runConfig: { pauseOnToolCalls: true },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library, () => ({ never: true })), toolOf(library, 'ping', () => 'pong')],
      }),
    }),
    turns: [
      'weather?',
      { message: answering({ weather: { celsius: 3 }, ping: { pong: 1 } }) },
      { message: 'ping', runConfig: {} },
    ],
  },
  {
    name: 'a run that pauses without calls',
    script: [[text('Three.')]],
    runConfig: { pauseOnToolCalls: true },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'calls that a model gives again under a known id',
    script: [
      [calls(['ping', { n: 1 }, 'a'])],
      [text('One.')],
      [calls(['ping', { n: 2 }, 'b'])],
      [text('Two.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [toolOf(library, 'ping', (args) => args)] }),
    }),
    turns: ['one', 'two'],
  },
  {
    name: 'a response for a call that is not there',
    script: [[text('ok')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: [
      {
        message: {
          role: 'user',
          parts: [{ functionResponse: { id: 'x', name: 'gone', response: { a: 1 } } }],
        },
      },
    ],
    differs: {
      because: KEPT,
      adk: (came) =>
        endedBy(came, /^No function call event found for function responses ids: x$/, {
          author: 'a_response_for_a_call_that_is_not_there',
          errorCode: 'HOLDFAST_UNMATCHED_RESPONSE',
          errorMessage:
            'the message has function responses for calls that the session doesn\'t have: "x"; ' +
            'send each response under the id of its call',
          actions: {},
        }),
    },
  },
];
