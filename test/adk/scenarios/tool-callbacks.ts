import type { BaseTool } from '../../../src/index.ts';
import { agentOf, askWeather, toolOf, weatherOf } from '../cast.ts';
import { replaced } from '../differences.ts';
import type { Difference, Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

/** An agent whose callbacks before or behind a tool return what the tool is named after. */
const answering = (name: string, answers: unknown[], differs?: Difference): Scenario[] =>
  (['before', 'after'] as const).map((when) => ({
    name: `${name} ${when} a tool`,
    script: [[calls(...answers.map((_answer, index): [string] => [`tool-${index}`]))], [text('done')]],
    build: (library, model, agent) => ({
      agent: agentOf(library, agent, model, {
        tools: answers.map((_answer, index) => toolOf(library, `tool-${index}`, () => ({ ran: true }))),
        [`${when}ToolCallback`]: ({ tool }: { tool: BaseTool }) => answers[Number(tool.name.slice(5))],
      }),
    }),
    turns: ['go'],
    ...(differs === undefined ? {} : { differs }),
  }));

/** Callbacks of an agent before and behind its tools. */
export const TOOL_CALLBACKS: readonly Scenario[] = [
  {
    name: 'what callbacks of a tool are told',
    script: [[calls(['weather', { city: 'Oslo' }, 'call-1'])], [text('done')]],
    state: { who: 'Ada' },
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        beforeToolCallback: ({ tool, args, context }) => {
          note(
            'before',
            tool.name,
            args,
            context.functionCallId,
            context.state.toRecord(),
            context.userContent,
          );
          return undefined;
        },
        afterToolCallback: async ({ tool, args, context, response }) => {
          note('after', tool.name, args, context.functionCallId, context.agentName === name, response);
          await Promise.resolve();
          return undefined;
        },
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'arguments that a callback rewrites',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library, ({ city }) => ({ city }))],
        beforeToolCallback: ({ tool, args, context }) => {
          context.state.set('tool', tool.name);
          args.city = `${args.city}, Norway`;
          return undefined;
        },
      }),
    }),
    turns: ['weather?'],
    differs: {
      because:
        'A stored call stays as the model made it; ADK writes arguments that a callback changes into it.',
      adk: (came) => replaced(came, '"Oslo, Norway"},"name":"weather"', '"Oslo"},"name":"weather"'),
    },
  },
  {
    name: 'a response from a callback instead of the tool',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          weatherOf(library, () => {
            throw new Error('it must not run');
          }),
        ],
        beforeToolCallback: [() => undefined, () => ({ cached: 5 }), () => ({ never: true })],
        afterToolCallback: [({ response }) => ({ ...response, seen: true }), () => ({ never: true })],
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'a response that a callback replaces',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library, () => ({ celsius: 1 }))],
        afterToolCallback: ({ response, args, tool }) => ({ tool: tool.name, args, was: response }),
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'a response that a callback changes in place',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library, () => ({ celsius: 1 }))],
        afterToolCallback: ({ response }) => {
          response.fahrenheit = 34;
          return undefined;
        },
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'state of a tool and of its callbacks',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [
          weatherOf(library, (_args, { state }) => {
            note('tool', state.get('n'));
            state.set('n', 2);
            return { n: state.get('n') };
          }),
        ],
        beforeToolCallback: ({ context: { state } }) => {
          state.set('n', 1);
          state.set('user:asked', true);
          return undefined;
        },
        afterToolCallback: ({ context: { state } }) => {
          note('after', state.get('n'));
          state.set('n', 3);
          return undefined;
        },
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'a summary that a callback of a tool skips',
    script: [[askWeather()], [text('Then.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        afterToolCallback: ({ context }) => {
          context.actions.skipSummarization = true;
          return undefined;
        },
      }),
    }),
    turns: ['weather?', 'and then?'],
  },
  {
    name: 'a response that ends the turn without the tool',
    script: [[askWeather()], [text('Then.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        beforeToolCallback: ({ context }) => {
          context.actions.skipSummarization = true;
          context.state.set('answered', 'here');
          return { denied: true };
        },
      }),
    }),
    turns: ['weather?', 'and then?'],
  },
  ...answering('answers that are no objects', ['text', 3, null]),
  ...answering('answers that are lists', [[1, 2]], {
    because:
      'Anything but an object is `{ result }`, lists too, as in ADK for Go and Python; ADK 2.0.0 has `{ results }` for lists.',
    adk: (came) => replaced(came, '"results":[1,2]', '"result":[1,2]'),
  }),
  ...answering('answers that are falsy', [0, '', false], {
    because: 'A falsy value is no answer of a callback; in ADK it is one if the last callback returns it.',
    plays: {
      build: (library, model, name) => ({
        agent: agentOf(library, name, model, {
          tools: [0, 1, 2].map((index) => toolOf(library, `tool-${index}`, () => ({ ran: true }))),
        }),
      }),
    },
  }),
  {
    name: 'callbacks of calls of one step',
    script: [[calls(['one'], ['two'], ['one'])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: ['one', 'two'].map((tool) => toolOf(library, tool, () => ({ ran: tool }))),
        beforeToolCallback: ({ tool }) => (tool.name === 'two' ? { instead: true } : undefined),
        afterToolCallback: ({ tool, response }) =>
          tool.name === 'one' ? { ...response, after: true } : undefined,
      }),
    }),
    turns: ['go'],
  },
  {
    name: 'an error that a callback is told of behind the tool',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          weatherOf(library, () => {
            throw new Error('down');
          }),
        ],
        afterToolCallback: ({ response }) => ({ told: response }),
      }),
    }),
    turns: ['weather?'],
    differs: {
      because: 'Callbacks after a tool see its error, and may replace it; ADK drops what they return.',
      adk: (came) =>
        replaced(
          came,
          `{"error":"Error in tool 'weather': down"}`,
          `{"told":{"error":"Error in tool 'weather': down"}}`,
        ),
    },
  },
  {
    name: 'a callback before the tool that throws',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        beforeToolCallback: () => {
          throw new Error('no access');
        },
      }),
    }),
    turns: ['weather?'],
    differs: thrownBy('beforeToolCallback', 'a_callback_before_the_tool_that_throws'),
  },
  {
    name: 'a callback behind the tool that throws',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        afterToolCallback: () => {
          throw new Error('no access');
        },
      }),
    }),
    turns: ['weather?'],
    differs: thrownBy('afterToolCallback', 'a_callback_behind_the_tool_that_throws'),
  },
];

function thrownBy(callback: string, agent: string): Difference {
  return {
    because:
      'A callback or plugin that throws around a tool is the failure of that call, which the model is told of; in ADK it ends the turn.',
    plays: {
      build: (library, model, name) => ({
        agent: agentOf(library, name, model, {
          tools: [weatherOf(library, () => ({ error: `${callback} of agent "${agent}" failed: no access` }))],
        }),
      }),
    },
  };
}
