import { z } from 'zod';
import { unknownToolText } from '../../../src/flows/plan-calls.ts';
import { agentOf, askWeather, toolOf, weatherOf } from '../cast.ts';
import { NO_OUTPUT, replaced } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { calls, parts, text } from '../scripted-llm.ts';

const MISSING =
  'Invoking `weather()` failed as the following mandatory input parameters are not present:\ncity\n' +
  'You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters.';

/** Tools: what they are given, what they return and do. */
export const RESULTS: readonly Scenario[] = [
  ...results(),
  ...failures(),
  {
    name: 'what a tool is told',
    script: [[calls(['weather', { city: 'Oslo' }, 'call-1'])], [text('done')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [
          weatherOf(library, (args, context) => {
            note(
              args,
              context.functionCallId,
              context.agentName === name,
              context.userContent,
              context.actions,
            );
            return { celsius: 3 };
          }),
        ],
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'arguments as a schema makes them',
    script: [[calls(['order', { count: '3', extra: true }])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          new library.FunctionTool({
            name: 'order',
            description: 'Orders.',
            parameters: z.object({ count: z.coerce.number(), kind: z.string().default('plain') }),
            execute: (args) => ({ args }),
          }),
        ],
      }),
    }),
    turns: ['order'],
  },
  {
    name: 'arguments that do not fit',
    script: [[calls(['weather', { town: 'Oslo' }], ['weather', { city: 'Bergen' }])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library, ({ city }) => ({ city }))] }),
    }),
    turns: ['weather?'],
    differs: {
      because:
        'Arguments that do not fit are told in the words of ADK for Python; ADK 2.0.0 has those of zod.',
      plays: {
        build: (library, model, name) => ({
          agent: agentOf(library, name, model, {
            tools: [
              toolOf(library, 'weather', ({ city }) => (city === undefined ? { error: MISSING } : { city })),
            ],
          }),
        }),
      },
      adk: (came) => replaced(came, '"Is weather."', '"Tells the weather."'),
    },
  },
  {
    name: 'calls without arguments',
    script: [[parts({ functionCall: { name: 'ping' } })], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [toolOf(library, 'ping', (args) => ({ args }))] }),
    }),
    turns: ['ping'],
  },
  {
    name: 'words before and behind calls',
    script: [
      [
        parts(
          { text: 'Let me see.' },
          { text: 'hm', thought: true },
          { functionCall: { name: 'ping', args: { n: 1 } }, thoughtSignature: 'c2ln' },
          { text: 'And then' },
          { functionCall: { name: 'ping', args: { n: 2 } } },
        ),
      ],
      [text('done')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [toolOf(library, 'ping', (args) => args)] }),
    }),
    turns: ['ping'],
  },
  {
    name: 'ids that the model gives',
    script: [
      [calls(['ping', { n: 1 }, 'a'], ['ping', { n: 2 }])],
      [calls(['ping', {}, 'b'])],
      [text('done')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [toolOf(library, 'ping', (args) => args)] }),
    }),
    turns: ['ping'],
  },
  {
    name: 'calls that write state',
    script: [[calls(['count'], ['count'])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        instruction: 'Counted {n?}.',
        tools: [
          toolOf(
            library,
            'count',
            (_args, { state }) => {
              const n = Number(state.get('n') ?? 0) + 1;
              state.set('n', n);
              state.set('user:last', n);
              state.set('temp:scratch', n);
              return { n };
            },
            { isConcurrencySafe: false },
          ),
        ],
      }),
    }),
    turns: ['count'],
  },
  {
    name: 'calls of one step, one of which throws',
    script: [[calls(['good', { n: 1 }], ['bad'], ['good', { n: 2 }])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'good', ({ n }, { state }) => {
            state.set(`good-${n}`, true);
            return { n };
          }),
          toolOf(library, 'bad', (_args, { state }) => {
            state.set('bad', 'written before it throws');
            throw new RangeError('out of range');
          }),
        ],
      }),
    }),
    turns: ['go'],
    differs: {
      because: 'A call that fails has written no state, since it may be tried again; ADK keeps it.',
      adk: (came) => replaced(came, '"bad":"written before it throws",', ''),
    },
  },
  {
    name: 'objects that calls of one step write under one key',
    script: [[calls(['put', { key: 'a' }], ['put', { key: 'b' }])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'put', ({ key }, { state }) => {
            state.set('all', { [String(key)]: { of: key } });
            state.set('last', key);
            return 'put';
          }),
        ],
      }),
    }),
    turns: ['go'],
    differs: {
      because: 'Writes of a step’s calls under one key are merged; in ADK the last one wins.',
      adk: (came) => replaced(came, '"all":{"b":', '"all":{"a":{"of":"a"},"b":'),
    },
  },
  {
    name: 'a tool that skips the summary',
    script: [[askWeather()], [text('Then.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        tools: [
          weatherOf(library, (_args, context) => {
            context.actions.skipSummarization = true;
            return { celsius: 4 };
          }),
        ],
      }),
    }),
    turns: ['weather?', 'and now?'],
    differs: {
      because: NO_OUTPUT,
      adk: (came) => replaced(came, ',"stateDelta":{"said":""}', ''),
    },
  },
  {
    name: 'a tool that skips the summary beside one that does not',
    script: [[calls(['weather', { city: 'Oslo' }], ['ping'])], [text('Then.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          weatherOf(library, (_args, context) => {
            context.actions.skipSummarization = true;
            return { celsius: 4 };
          }),
          toolOf(library, 'ping', () => 'pong'),
        ],
      }),
    }),
    turns: ['weather?', 'and now?'],
  },
  {
    name: 'leaving a loop',
    script: [[calls(['exit_loop'])], [text('Then.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [library.EXIT_LOOP] }),
    }),
    turns: ['enough', 'more'],
  },
  {
    name: 'actions of tools',
    script: [[calls(['act'])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'act', (_args, { actions }) => {
            actions.escalate = true;
            actions.stateDelta.direct = 1;
            actions.artifactDelta['a.txt'] = 2;
            return 'acted';
          }),
        ],
      }),
    }),
    turns: ['act'],
  },
  {
    name: 'artifacts, and a memory that is not there',
    // A version is there for later calls: those of one step run side by side.
    script: [[calls(['save'])], [calls(['load'], ['list'], ['search'])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'save', (_args, context) => context.saveArtifact('a', { text: 'x' })),
          toolOf(library, 'load', (_args, context) => context.loadArtifact('a')),
          toolOf(library, 'list', async (_args, context) => (await context.listArtifacts()).join()),
          toolOf(library, 'search', (_args, context) => context.searchMemory('cats dogs')),
        ],
      }),
    }),
    turns: ['act'],
  },
  {
    name: 'a tool that is not there',
    script: [[calls(['fly', { to: 'Oslo' }])], [text('I cannot.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [toolOf(library, 'ping', () => 'pong')] }),
    }),
    turns: ['fly'],
    differs: {
      because:
        'A call of a tool that is not there is answered with an error, and the turn goes on; in ADK it ends with an error event.',
      plays: {
        build: (library, model, name) => ({
          agent: agentOf(library, name, model, {
            tools: [
              toolOf(library, 'ping', () => 'pong'),
              toolOf(library, 'fly', () => ({ error: unknownToolText('fly', ['ping']) })),
            ],
          }),
        }),
      },
      adk: (came) => ({
        ...came,
        requests: came.requests.map((request) => ({
          ...request,
          functions: request.functions.filter((offered) => offered.name !== 'fly'),
        })),
      }),
    },
  },
];

/** What a tool returns, and what the model is told. */
function results(): Scenario[] {
  return [
    outcomes('results of all kinds', [
      () => ({ celsius: 3 }),
      () => ({ a: { b: [1, null, { c: 'd' }] }, e: null }),
      () => ({}),
      () => 'three degrees',
      () => '',
      () => 3,
      () => 0,
      () => false,
      () => null,
      () => undefined,
      async () => ({ error: 'unknown city', code: 4 }),
    ]),
    {
      ...outcomes('a result that is a list', [() => [1, 2]]),
      differs: {
        because:
          'Anything but an object is `{ result }`, lists too, as in ADK for Go and Python; ADK 2.0.0 has `{ results }` for lists.',
        adk: (came) => replaced(came, '"results":[1,2]', '"result":[1,2]'),
      },
    },
    {
      ...outcomes('a result that is a date', [() => new Date(0)]),
      differs: {
        because: 'Results are kept as JSON; ADK sends a date as it is, which is no object any more in JSON.',
        adk: (came) => {
          const date = '"1970-01-01T00:00:00.000Z"';
          const asText = replaced(came, '"response":{}', `"response":${date}`);
          return replaced(asText, `"response":${date}`, `"response":{"result":${date}}`);
        },
      },
    },
  ];
}

function failures(): Scenario[] {
  return [
    outcomes('tools that throw', [
      () => {
        throw new Error('the station is down');
      },
      async () => {
        throw new TypeError('cannot read properties of undefined');
      },
      () => {
        throw 'just words';
      },
    ]),
    {
      ...outcomes('a tool that throws an error without a message', [
        () => {
          throw new Error('');
        },
      ]),
      differs: {
        because: 'An error without a message is told by its name; ADK tells nothing.',
        adk: (came) => replaced(came, `"Error in tool 'tool-0': "`, `"Error in tool 'tool-0': Error"`),
      },
    },
  ];
}

/** One call of each tool, in one step. */
function outcomes(name: string, tools: (() => unknown)[]): Scenario {
  return {
    name,
    script: [[calls(...tools.map((_tool, index): [string] => [`tool-${index}`]))], [text('done')]],
    build: (library, model, agent) => ({
      agent: agentOf(library, agent, model, {
        tools: tools.map((execute, index) => toolOf(library, `tool-${index}`, execute)),
      }),
    }),
    turns: ['go'],
  };
}
