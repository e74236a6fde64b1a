import {
  type Content,
  type Event,
  getFunctionCalls,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '../../../src/index.ts';
import { agentOf } from '../cast.ts';
import type { Came } from '../comparable.ts';
import type { Difference, Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

/** A message that answers the latest question. */
const answering =
  (response: Record<string, unknown>) =>
  (events: readonly Event[]): Content => {
    const asked = events.flatMap((event) => getFunctionCalls(event)).findLast(isQuestion);
    const named = { name: REQUEST_INPUT_FUNCTION_CALL_NAME, response };
    const functionResponse = asked?.id === undefined ? named : { ...named, id: asked.id };
    return { role: 'user', parts: [{ functionResponse }] };
  };

const isQuestion = ({ name }: { name?: string }) => name === REQUEST_INPUT_FUNCTION_CALL_NAME;

const ASKED: Difference = {
  because:
    "A model's question to a person is asked by an event of its own, its answer is the result of the call, and the model sees both; " +
    'ADK shows the model neither.',
  adk: asked,
};

function asked(came: Came): Came {
  const [question, answer] = came.events;
  const [call] = question ?? [];
  const [first, second] = came.requests;
  if (call === undefined || first === undefined || second === undefined) throw new Error('ADK has not asked');
  const { author } = call;
  const name = REQUEST_INPUT_FUNCTION_CALL_NAME;
  const message = 'Which size?';
  const args = { interruptId: 'id-2', message, payload: null, response_schema: null };
  const response = { name, response: { result: 'large' } };
  return {
    ...came,
    events: [
      [
        call,
        {
          author,
          content: { role: 'user', parts: [{ functionCall: { id: 'id-2', name, args } }] },
          actions: {},
          longRunningToolIds: ['id-2'],
        },
      ],
      [
        {
          author,
          content: { role: 'user', parts: [{ functionResponse: { id: 'id-1', ...response } }] },
          actions: {},
        },
        ...(answer ?? []),
      ],
    ],
    messages: came.messages.slice(0, 1),
    requests: [
      first,
      {
        ...second,
        contents: [
          ...first.contents,
          { role: 'model', parts: [{ functionCall: { name, args: { message } } }] },
          { role: 'user', parts: [{ functionResponse: response }] },
        ],
      },
    ],
  };
}

/** Questions to a person, as a model asks them. */
export const INPUTS: readonly Scenario[] = [
  {
    name: 'a question of the model that is answered',
    script: [[calls([REQUEST_INPUT_FUNCTION_CALL_NAME, { message: 'Which size?' }])], [text('Large it is.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [library.requestInputTool] }),
    }),
    turns: ['order a shirt', { message: answering({ result: 'large' }) }],
    differs: ASKED,
  },
];
