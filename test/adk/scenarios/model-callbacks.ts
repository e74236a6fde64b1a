import { agentOf, askWeather, weatherOf } from '../cast.ts';
import type { Came } from '../comparable.ts';
import { withEvents } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { calls, parts, piece, text } from '../scripted-llm.ts';

/** Callbacks of an agent before and behind its model. */
export const MODEL_CALLBACKS: readonly Scenario[] = [
  {
    name: 'an answer before the model',
    script: [],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        beforeModelCallback: [
          ({ context }) => {
            context.state.set('looked', true);
            return undefined;
          },
          () => text('from the cache'),
          () => text('never'),
        ],
        afterModelCallback: () => text('after callbacks do not see it'),
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'calls before the model',
    script: [[text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        beforeModelCallback: ({ request }) => (request.contents.length === 1 ? askWeather() : undefined),
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'what callbacks around the model are told',
    script: [[askWeather()], [text('done', { usageMetadata: { totalTokenCount: 5 } })]],
    state: { who: 'Ada' },
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        beforeModelCallback: async ({ context, request }) => {
          note('before', context.agentName === name, context.userContent, context.state.toRecord());
          note(
            request.model,
            request.contents,
            request.config?.systemInstruction,
            Object.keys(request.toolsDict),
          );
          await Promise.resolve();
          return undefined;
        },
        afterModelCallback: ({ context, response }) => {
          note('after', context.functionCallId, context.state.get('who'), response);
          return undefined;
        },
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'a request that a callback edits',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeModelCallback: ({ request }) => {
          request.contents.push({ role: 'user', parts: [{ text: 'in Latin, please' }] });
          request.config = { ...request.config, temperature: 0.1 };
          return undefined;
        },
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a request that callbacks write anew',
    script: [[text('ok')], [text('again')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeModelCallback: [
          ({ request }) => {
            request.contents = [{ role: 'user', parts: [{ text: 'only this' }] }];
            return undefined;
          },
          ({ request }) => {
            if (request.config) request.config.systemInstruction += ' Be kind.';
            request.model = 'gemini-2.5-pro';
            return undefined;
          },
        ],
      }),
    }),
    turns: ['Hi', 'Hi again'],
  },
  {
    name: 'state that a callback writes into the instruction of the next step',
    script: [[askWeather()], [text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        instruction: 'Step {step?}.',
        tools: [weatherOf(library)],
        beforeModelCallback: ({ context }) => {
          context.state.set('step', Number(context.state.get('step') ?? 0) + 1);
          context.state.set('temp:mine', 1);
          return undefined;
        },
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'an answer that a callback replaces',
    script: [[text('secret 1234', { finishReason: 'STOP' as never, modelVersion: 'v1' })]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        afterModelCallback: [
          ({ context, response }) => {
            context.state.set('length', response.content?.parts?.[0]?.text?.length);
            return undefined;
          },
          ({ response }) => ({ ...response, content: { role: 'model', parts: [{ text: 'secret ****' }] } }),
          () => text('never'),
        ],
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'an answer that a callback changes in place',
    script: [[text('secret 1234')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        afterModelCallback: ({ response }) => {
          response.content?.parts?.push({ text: ', more' });
          response.customMetadata = { checked: true };
          return undefined;
        },
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'calls that a callback puts in the place of words',
    script: [[text('I would ask the station.')], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        afterModelCallback: ({ response }) =>
          response.content?.parts?.[0]?.text?.startsWith('I would') ? askWeather() : undefined,
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'words that a callback puts in the place of calls',
    script: [[calls(['weather', { city: 'Oslo' }], ['weather', { city: 'Bergen' }])]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        outputKey: 'said',
        afterModelCallback: () => text('I may not ask.'),
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'calls that a callback takes away',
    script: [[calls(['weather', { city: 'Oslo' }], ['weather', { city: 'Bergen' }])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library, ({ city }) => city)],
        afterModelCallback: ({ response }) => {
          if ((response.content?.parts?.length ?? 0) > 1) response.content?.parts?.pop();
          return undefined;
        },
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an error in the place of an answer',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        afterModelCallback: () => ({ errorCode: 'REFUSED', errorMessage: 'not today' }),
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'actions that callbacks of a model set',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeModelCallback: ({ context }) => {
          context.actions.artifactDelta['a.txt'] = 1;
          return undefined;
        },
        afterModelCallback: ({ context }) => {
          context.actions.escalate = true;
          context.actions.stateDelta.direct = [1];
          return undefined;
        },
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a summary that a callback of a model skips',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [weatherOf(library)],
        afterModelCallback: ({ context }) => {
          context.actions.skipSummarization = true;
          return undefined;
        },
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an invocation that a callback of a model ends',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeModelCallback: ({ context }) => {
          context.invocationContext.endInvocation = true;
          return text('last words');
        },
        afterAgentCallback: () => parts({ text: 'never' }).content,
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a callback before the model that throws',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeModelCallback: () => {
          throw new Error('no quota');
        },
      }),
    }),
    turns: ['Hi'],
    differs: {
      because:
        'Errors of callbacks and plugins have a code, and name the failing one; ADK has `UNKNOWN_ERROR`.',
      adk: (came) =>
        called(
          came,
          'beforeModelCallback of agent "a_callback_before_the_model_that_throws" failed: no quota',
        ),
    },
  },
  {
    name: 'a callback behind the model that throws',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        afterModelCallback: ({ context }) => {
          context.state.set('seen', true);
          throw new Error('no quota');
        },
      }),
    }),
    turns: ['Hi'],
    differs: {
      because: 'An error event keeps the state that callbacks have written; ADK drops it.',
      adk: (came) => ({
        ...withEvents(
          called(
            came,
            'afterModelCallback of agent "a_callback_behind_the_model_that_throws" failed: no quota',
          ),
          (events) => events.map((event) => ({ ...event, actions: { stateDelta: { seen: true } } })),
        ),
        states: [{ seen: true }],
      }),
    },
  },
  {
    name: 'pieces that a callback rewrites',
    script: [[piece('secret '), piece('1234'), text('secret 1234')]],
    runConfig: { streamingMode: 'sse' },
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        afterModelCallback: ({ response }) => {
          note(response.partial === true, response.content);
          const said = response.content?.parts?.[0]?.text?.replace(/\d/g, '*') ?? '';
          return { ...response, content: { role: 'model', parts: [{ text: said }] } };
        },
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'callbacks that return null and the like',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeModelCallback: [() => null as never, () => false as never, () => '' as never],
        afterModelCallback: [() => null as never, () => 0 as never],
      }),
    }),
    turns: ['Hi'],
  },
];

function called(came: Came, errorMessage: string): Came {
  return withEvents(came, (events) =>
    events.map((event) => ({ ...event, errorCode: 'HOLDFAST_CALLBACK_FAILED', errorMessage })),
  );
}
