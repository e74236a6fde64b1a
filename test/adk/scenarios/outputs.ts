import { Type } from '@google/genai';
import { z } from 'zod';
import { agentOf, askWeather, toolOf, weatherOf } from '../cast.ts';
import { NO_OUTPUT, replaced } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { calls, parts, text } from '../scripted-llm.ts';

const report = z.object({ city: z.string(), celsius: z.number() });

const genaiReport = {
  type: Type.OBJECT,
  properties: { city: { type: Type.STRING }, celsius: { type: Type.NUMBER } },
  required: ['city', 'celsius'],
};

/** The key of the output, and its schema. */
export const OUTPUTS: readonly Scenario[] = [
  {
    name: 'the key of the output',
    script: [[askWeather()], [text('Three degrees.')], [text('Four.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        instruction: 'Last: {said?}',
        outputKey: 'said',
        tools: [weatherOf(library)],
      }),
    }),
    turns: ['weather?', 'and now?'],
  },
  {
    name: 'an output with prefix and several parts',
    script: [[parts({ text: 'One, ' }, { text: '' }, { text: 'two.' })]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { outputKey: 'user:said' }) }),
    turns: ['Hi'],
  },
  {
    name: 'words beside calls are no output',
    script: [
      [parts({ text: 'Let me see.' }, { functionCall: { name: 'weather', args: { city: 'Oslo' } } })],
      [text('Three.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { outputKey: 'said', tools: [weatherOf(library)] }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an output with thoughts',
    script: [[parts({ text: 'hm', thought: true }, { text: 'Yes.' })]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { outputKey: 'said' }) }),
    turns: ['Hi'],
    differs: {
      because: 'Thoughts are no output; ADK stores them under `outputKey`.',
      adk: (came) => replaced(came, '"hmYes."', '"Yes."'),
    },
  },
  {
    name: 'an output of thoughts alone',
    script: [[parts({ text: 'hm', thought: true })]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { outputKey: 'said' }) }),
    turns: ['Hi'],
    differs: {
      because: 'Thoughts are no output; ADK stores them under `outputKey`.',
      adk: (came) => ({ ...replaced(came, '"stateDelta":{"said":"hm"}', ''), states: [{}] }),
    },
  },
  {
    name: 'an answer by a schema',
    script: [[text('{"city":"Oslo","celsius":3}')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { description: 'tells', outputSchema: report, outputKey: 'said' }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an answer by a schema of the provider',
    script: [[text('{"city":"Oslo","celsius":3}')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { outputSchema: genaiReport, outputKey: 'said' }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an answer by a schema without a key',
    script: [[text('{"city":"Oslo","celsius":3}')], [text('{"city":"Bergen","celsius":4}')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { outputSchema: report }) }),
    turns: ['weather?', 'and there?'],
  },
  {
    name: 'an answer by a schema that changes it',
    script: [[text('{"city":"Oslo","celsius":"3","more":1}')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputSchema: z.object({
          city: z.string().transform((city) => city.toUpperCase()),
          celsius: z.coerce.number(),
        }),
        outputKey: 'said',
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an answer that is no JSON',
    script: [[text('three degrees')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { outputSchema: report, outputKey: 'said' }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an answer that does not match the schema',
    script: [[text('{"city":5}')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { outputSchema: report, outputKey: 'said' }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an answer by a schema that is blank',
    script: [[text(' \n')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { outputSchema: report, outputKey: 'said' }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an answer by a schema in two parts',
    script: [[parts({ text: '{"city":"Oslo",' }, { text: '"celsius":3}' })]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { outputSchema: report, outputKey: 'said' }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an answer by a schema beside tools',
    script: [[askWeather()], [calls(['set_model_response', { city: 'Oslo', celsius: 3 }])], [text('Bye.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputSchema: report,
        outputKey: 'said',
        tools: [weatherOf(library)],
      }),
    }),
    turns: ['weather?', 'thanks'],
  },
  {
    name: 'an answer by a schema of the provider beside tools',
    script: [[calls(['set_model_response', { city: 'Oslo', celsius: 3 }])]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputSchema: genaiReport,
        outputKey: 'said',
        tools: [weatherOf(library)],
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an answer by a schema beside tools, with words and another call',
    script: [
      [
        parts(
          { text: 'Here it is.' },
          { functionCall: { name: 'weather', args: { city: 'Oslo' } } },
          { functionCall: { name: 'set_model_response', args: { city: 'Oslo', celsius: 3 } } },
        ),
      ],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputSchema: report,
        outputKey: 'said',
        tools: [weatherOf(library)],
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'words of an agent that answers by a schema beside tools',
    script: [[text('I do not know.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputSchema: report,
        outputKey: 'said',
        tools: [weatherOf(library)],
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an answer by a schema beside tools that does not match',
    script: [
      [calls(['set_model_response', { city: 'Oslo' }])],
      [calls(['set_model_response', { city: 'Oslo', celsius: 3 }])],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputSchema: report,
        outputKey: 'said',
        tools: [weatherOf(library)],
      }),
    }),
    turns: ['weather?'],
    differs: {
      because:
        'An answer by `set_model_response` that does not match its schema is told to the model, which answers again; ADK takes it.',
      plays: { script: [[calls(['set_model_response', { city: 'Oslo', celsius: 3 }])]] },
      adk: ({ events: [answered = []], requests: [asked], ...came }) => {
        const author = answered[0]?.author;
        const name = 'set_model_response';
        const error =
          'Invoking `set_model_response()` failed due to validation errors: celsius: required\n' +
          'You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters.';
        const call = { name, args: { city: 'Oslo' } };
        const response = { name, response: { error } };
        const contents = (id: { id?: string }) => [
          { role: 'model', parts: [{ functionCall: { ...call, ...id } }] },
          { role: 'user', parts: [{ functionResponse: { ...response, ...id } }] },
        ];
        const told = contents({ id: 'id-1' }).map((content) => ({ author, content, actions: {} }));
        if (asked === undefined) throw new Error('ADK has asked nothing');
        return {
          ...came,
          events: [[...told, ...answered]],
          requests: [asked, { ...asked, contents: [...asked.contents, ...contents({})] }],
        };
      },
    },
  },
  {
    name: 'an output behind which a callback speaks',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        afterAgentCallback: () => ({ role: 'model', parts: [{ text: 'PS.' }] }),
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'an output before which a callback speaks',
    script: [],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        beforeAgentCallback: () => ({ role: 'model', parts: [{ text: 'closed' }] }),
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'an output of a tool that has the last word',
    script: [[calls(['say'])]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        tools: [
          toolOf(library, 'say', (_args, { actions, state }) => {
            actions.skipSummarization = true;
            state.set('said', 'by the tool');
            return 'said';
          }),
        ],
      }),
    }),
    turns: ['Hi'],
    differs: {
      because: NO_OUTPUT,
      adk: (came) => replaced(came, '"said":""', '"said":"by the tool"'),
    },
  },
];
