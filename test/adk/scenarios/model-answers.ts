import type { Content, LlmResponse } from '../../../src/index.ts';
import { agentOf, askWeather, toolOf, weatherOf } from '../cast.ts';
import { modelFailed, replaced, withEvents } from '../differences.ts';
import type { Difference, Scenario } from '../scenario.ts';
import { calls, parts, piece, text } from '../scripted-llm.ts';

const EMPTY = 'An answer with nothing in it is an event, too, which has its usage; ADK drops it.';

const emptyEvent = (said: { content?: Content }): Difference => ({
  because: EMPTY,
  adk: (came) => withEvents(came, () => [{ author: came.events[1]?.[0]?.author, ...said, actions: {} }], 1),
});

const noOutput = (words: string, because: string): Difference => ({
  because,
  adk: (came) => replaced(came, `"actions":{"stateDelta":{"said":${JSON.stringify(words)}}}`, '"actions":{}'),
});

const NO_TEXT = noOutput('', 'An answer without text is no output; ADK stores an empty one.');

const ROLE: Difference = {
  because: 'Words of a model have the role `model`; ADK sends any other one back to the provider.',
  adk: (came) => replaced(came, '"assistant"', '"model"'),
};

const ROLELESS: Difference = {
  because: 'Content without a role gets that of its author; the contents of ADK leave it out.',
  plays: { script: [[text('Hello.')], [text('Then.')]] },
};

/** What models answer. */
export const MODEL_ANSWERS: readonly Scenario[] = [
  ...alone([
    ['that is empty text', [text('')], NO_TEXT],
    ['without parts', [parts()], emptyEvent({ content: { role: 'model', parts: [] } })],
    ['without content', [{}], emptyEvent({})],
    ['of usage alone', [{ usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } }]],
    [
      'of thoughts alone',
      [parts({ text: 'hm', thought: true })],
      noOutput('hm', 'Thoughts are no output; ADK stores them under `outputKey`.'),
    ],
    ['of several texts', [parts({ text: 'One.' }, { text: 'Two.' }, { text: '' })]],
    ['of a picture', [parts({ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } })], NO_TEXT],
    ['with a signature', [parts({ text: 'Signed.', thoughtSignature: 'c2ln' })]],
    ['that an error stands in for', [{ errorCode: 'SAFETY', errorMessage: 'refused' }]],
    [
      'with an error beside words',
      [text('As far as', { errorCode: 'MAX_TOKENS', errorMessage: 'cut' })],
      noOutput('As far as', 'An answer that ends with an error is no output; ADK stores it.'),
    ],
    ['with an error without words for it', [{ errorCode: 'SAFETY' }]],
    ['that was interrupted', [text('As far', { interrupted: true })]],
    ['of another role', [{ content: { role: 'assistant', parts: [{ text: 'Hello.' }] } }], ROLE],
    ['without a role', [{ content: { parts: [{ text: 'Hello.' }] } }], ROLELESS],
    [
      'with all its metadata',
      [
        text('Hello.', {
          finishReason: 'STOP' as never,
          modelVersion: 'gemini-2.5-flash-001',
          turnComplete: true,
          customMetadata: { a: { b: [1] } },
          usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
          groundingMetadata: { webSearchQueries: ['oslo'] },
          citationMetadata: { citations: [{ startIndex: 0, endIndex: 2, uri: 'https://a.example' }] },
        }),
      ],
    ],
    [
      'of code and its result',
      [
        parts(
          { text: 'I compute.' },
          { executableCode: { language: 'PYTHON' as never, code: 'print(1)' } },
          { codeExecutionResult: { outcome: 'OUTCOME_OK' as never, output: '1' } },
          { text: 'It is 1.' },
        ),
      ],
    ],
  ]),
  {
    name: 'a result of code as the last part',
    script: [
      [
        parts(
          { executableCode: { language: 'PYTHON' as never, code: '1' } },
          { codeExecutionResult: { output: '1' } },
        ),
      ],
      [text('It is 1.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { codeExecutor: new library.BuiltInCodeExecutor() }),
    }),
    turns: ['compute'],
  },
  {
    name: 'an empty answer behind calls',
    script: [[askWeather()], [parts()], [text('Again.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['weather?', 'again'],
    differs: {
      because: EMPTY,
      adk: (came) =>
        withEvents(
          came,
          (events) => [
            ...events,
            { author: 'an_empty_answer_behind_calls', content: { role: 'model', parts: [] }, actions: {} },
          ],
          1,
        ),
    },
  },
  {
    name: 'an empty event behind calls',
    script: [[askWeather()], [{ usageMetadata: { totalTokenCount: 3 } }], [text('Again.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['weather?', 'again'],
  },
  {
    name: 'an event whose first part is empty',
    script: [
      [parts({ text: '' }, { functionCall: { name: 'weather', args: { city: 'Oslo' } } })],
      [text('done')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['weather?'],
    differs: {
      because:
        'An event whose first part is empty is told to the model; the contents of ADK leave it out, calls and all.',
      plays: { script: [[askWeather()], [text('done')]] },
      adk: (came) => replaced(came, '[{"functionCall"', '[{"text":""},{"functionCall"'),
    },
  },
  {
    name: 'an answer whose first part is empty',
    script: [[parts({ text: '' }, { text: 'Hello.' })], [text('done')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: ['Hi', 'again'],
    differs: {
      because:
        'An event whose first part is empty is told to the model; the contents of ADK leave it out, calls and all.',
      plays: { script: [[text('Hello.')], [text('done')]] },
      adk: (came) => replaced(came, '[{"text":"Hello."}', '[{"text":""},{"text":"Hello."}'),
    },
  },
  {
    name: 'a model that fails',
    script: [new Error('overloaded'), [text('Hello.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { outputKey: 'said' }) }),
    turns: ['Hi', 'again'],
    differs: {
      because:
        'Errors of models have the codes of their classes; ADK has `UNKNOWN_ERROR`, or the code in a message that is JSON.',
      adk: (came) => modelFailed(came, 'overloaded'),
    },
  },
  {
    name: 'a model that fails with an error of the provider',
    script: [
      new Error(JSON.stringify({ error: { code: 400, message: 'bad schema', status: 'INVALID_ARGUMENT' } })),
    ],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: ['Hi'],
    differs: {
      because:
        'Errors of models have the codes of their classes; ADK has `UNKNOWN_ERROR`, or the code in a message that is JSON.',
      adk: (came) =>
        replaced(
          came,
          '"errorCode":"400","errorMessage":"bad schema"',
          '"errorCode":"HOLDFAST_MODEL_UNKNOWN","errorMessage":"The model call failed (INVALID_ARGUMENT): bad schema"',
        ),
    },
  },
  {
    name: 'a model that fails behind calls',
    script: [[askWeather()], new Error('overloaded'), [text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['Hi', 'again'],
    differs: {
      because:
        'Errors of models have the codes of their classes; ADK has `UNKNOWN_ERROR`, or the code in a message that is JSON.',
      adk: (came) => modelFailed(came, 'overloaded'),
    },
  },
  {
    name: 'a model that answers several times',
    script: [[text('One.'), text('Two.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: ['Hi'],
    differs: {
      because: 'The last of several whole responses to one model call counts; in ADK each is an event.',
      plays: { script: [[text('Two.')]] },
    },
  },
  {
    name: 'a stream',
    script: [[piece('Hel'), piece('lo.'), text('Hello.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { outputKey: 'said' }) }),
    turns: ['Hi'],
    runConfig: { streamingMode: 'sse' },
  },
  {
    name: 'a stream with thoughts and calls',
    script: [
      [
        piece('hm, ', true),
        piece('so', true),
        piece('Let me see.'),
        parts(
          { text: 'hm, so', thought: true },
          { text: 'Let me see.' },
          { functionCall: { name: 'weather', args: { city: 'Oslo' } } },
        ),
      ],
      [piece('Three'), piece(' degrees.'), text('Three degrees.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['weather?'],
    runConfig: { streamingMode: 'sse' },
  },
  {
    name: 'a stream that fails in the middle',
    script: [() => [piece('Hel'), raise('cut off')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: ['Hi'],
    differs: {
      because:
        'Errors of models have the codes of their classes; ADK has `UNKNOWN_ERROR`, or the code in a message that is JSON.',
      adk: (came) => modelFailed(came, 'cut off'),
    },
    runConfig: { streamingMode: 'sse' },
  },
  {
    name: 'a stream of pieces alone',
    script: [[piece('Hel'), piece('lo.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: ['Hi'],
    differs: {
      because: 'A stream that ends without a whole response has failed; in ADK the turn ends with nothing.',
      adk: (came) =>
        withEvents({ ...came, partials: [{ text: '', thoughts: '' }] }, () => [
          {
            author: 'a_stream_of_pieces_alone',
            errorCode: 'HOLDFAST_MODEL_NETWORK',
            errorMessage: 'the model gemini-2.5-flash ended its stream without a response',
            actions: {},
          },
        ]),
    },
    runConfig: { streamingMode: 'sse' },
  },
  {
    name: 'calls of tools with odd names and arguments',
    script: [[calls(['put', { 'a b': 1, ключ: ['x', null], nested: { __proto__x: 1 } }])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [toolOf(library, 'put', (args) => ({ args }))] }),
    }),
    turns: ['go'],
  },
];

function raise(message: string): never {
  throw new Error(message);
}

/**
 * Answers one after another, whose requests show what became of those before; one that differs is followed by another one in a
 * conversation of its own.
 */
function alone(answers: [what: string, answer: LlmResponse[], differs?: Difference][]): Scenario[] {
  const alike = answers.filter(([, , differs]) => differs === undefined);
  const build: Scenario['build'] = (library, model, name) => ({
    agent: agentOf(library, name, model, { outputKey: 'said' }),
  });
  return [
    {
      name: `answers ${alike.map(([what]) => what).join(', ')}`.slice(0, 100),
      script: alike.map(([, answer]) => answer),
      build,
      turns: alike.map(([what]) => what),
    },
    ...answers.flatMap(([what, answer, differs]): Scenario[] => {
      if (differs === undefined) return [];
      const script = [answer, [text('Then.')]];
      return [{ name: `an answer ${what}`, script, build, turns: ['Hi', 'and then?'], differs }];
    }),
  ];
}
