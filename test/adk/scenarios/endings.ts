import { agentOf, askWeather, pluginOf, toolOf, weatherOf } from '../cast.ts';
import { replaced, withEvents } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { calls, piece, text } from '../scripted-llm.ts';

const behind = () => ({ role: 'model', parts: [{ text: 'behind' }] });

/** What ends a turn early, and what is counted until then. */
export const ENDINGS: readonly Scenario[] = [
  {
    name: 'an invocation that a callback ends behind an answer with calls',
    script: [[askWeather()], [text('never')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        afterModelCallback: ({ context }) => {
          context.invocationContext.endInvocation = true;
          return undefined;
        },
        afterAgentCallback: behind,
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an invocation that a callback ends behind an answer',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        afterModelCallback: ({ context }) => {
          context.invocationContext.endInvocation = true;
          return undefined;
        },
        afterAgentCallback: behind,
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'an invocation that a callback ends before the model, without an answer',
    script: [[text('asked')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeModelCallback: ({ context }) => {
          context.invocationContext.endInvocation = true;
          return undefined;
        },
      }),
    }),
    turns: ['Hi'],
    differs: {
      because:
        'If a callback sets `endInvocation` before the model, the model is not asked any more; ADK asks it this once.',
      adk: (came) => withEvents({ ...came, requests: [] }, () => []),
    },
  },
  {
    name: 'an invocation that a tool ends',
    script: [[calls(['end'], ['ping'])], [text('never')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'end', (_args, { invocationContext }) => {
            invocationContext.endInvocation = true;
            return 'ended';
          }),
          toolOf(library, 'ping', () => 'pong'),
        ],
      }),
    }),
    turns: ['end'],
    differs: {
      because:
        '`endInvocation` of a tool is its `skipSummarization`, which its event says; in ADK no event does.',
      adk: (came) =>
        withEvents(came, ([asked, answered]) =>
          asked && answered ? [asked, { ...answered, actions: { skipSummarization: true } }] : [],
        ),
    },
  },
  {
    name: 'answers before the model count against the limit of its calls',
    script: [],
    runConfig: { maxLlmCalls: 2 },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        beforeModelCallback: ({ request }) => (request.contents.length < 5 ? askWeather() : text('enough')),
      }),
    }),
    turns: ['weather?'],
    differs: {
      because:
        'Each step counts against `maxLlmCalls`, also if a callback answers it, so that callbacks end; ADK counts calls of models only.',
      adk: (came) =>
        withEvents(came, (events) => [
          ...events.slice(0, -1),
          {
            author: 'answers_before_the_model_count_against_the_limit_of_its_calls',
            errorCode: 'LLM_CALLS_LIMIT_EXCEEDED',
            errorMessage: 'Max number of llm calls limit of 2 exceeded',
            actions: {},
          },
        ]),
    },
  },
  {
    name: 'pieces that plugins see as events',
    script: [[piece('Hel'), piece('lo.'), text('Hello.')]],
    runConfig: { streamingMode: 'sse' },
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model),
      plugins: [
        pluginOf(library, 'sees', {
          onEventCallback: async ({ event }) => {
            note(event.partial === true, event.content);
            return undefined;
          },
        }),
      ],
    }),
    turns: ['Hi'],
    differs: {
      because:
        'Plugins see events that are stored, and pieces of a stream by `afterModelCallback` alone; ADK shows them pieces as events.',
      adk: (came) => ({ ...came, notes: came.notes.slice(2) }),
    },
  },
  {
    name: 'the order of events and callbacks of one step',
    script: [[text('Hello.')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        beforeAgentCallback: ({ state }) => {
          state.set('x', 1);
          return undefined;
        },
        beforeModelCallback: () => {
          note('model');
          return undefined;
        },
      }),
      plugins: [
        pluginOf(library, 'sees', {
          onEventCallback: async ({ event }) => {
            note('event', event.actions.stateDelta);
            return undefined;
          },
        }),
      ],
    }),
    turns: ['Hi'],
    differs: {
      because:
        'Plugins are shown the events of a step together, when they are about to be stored; ADK shows each as it comes.',
      adk: ({ notes: [event, model, ...rest], ...came }) => ({ ...came, notes: [model, event, ...rest] }),
    },
  },
  {
    name: 'results that callbacks behind a tool are shown',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library, () => 'three degrees')],
        afterToolCallback: ({ response }) => {
          note(response);
          return undefined;
        },
      }),
    }),
    turns: ['weather?'],
    differs: {
      because:
        'Callbacks after a tool are shown an object, as the model is; ADK shows them the returned value.',
      adk: (came) => replaced(came, '"notes":[["three degrees"]]', '"notes":[[{"result":"three degrees"}]]'),
    },
  },
];
