import { agentOf } from '../cast.ts';
import { replaced } from '../differences.ts';
import type { Library, Scenario } from '../scenario.ts';
import { text } from '../scripted-llm.ts';

const examples = [
  {
    input: { role: 'user', parts: [{ text: 'is it warm?' }] },
    output: [
      { role: 'model', parts: [{ functionCall: { name: 'weather', args: { day: 1 } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'weather', response: { celsius: 20 } } }] },
      { role: 'model', parts: [{ text: 'Yes.' }] },
    ],
  },
];

function showing(name: string, toolOf: (library: Library) => object, turns: Scenario['turns']): Scenario {
  return {
    name,
    script: turns.map(() => [text('No.')]),
    build: (library, model, agent) => ({
      agent: agentOf(library, agent, model, { tools: [toolOf(library)] as never[] }),
    }),
    turns,
    differs: {
      because: 'The sentence before examples is ours, and their end is marked as one.',
      adk: (came) =>
        replaced(
          replaced(
            came,
            'The following are examples of user queries and model responses using the available tools.',
            'Each example shows what a user asked and how the tools were used to answer.',
          ),
          'End few-shot\\n<EXAMPLES>',
          'End few-shot\\n</EXAMPLES>',
        ),
    },
  };
}

/** Examples in instructions. */
export const EXAMPLES: readonly Scenario[] = [
  showing('examples', ({ ExampleTool }) => new ExampleTool(examples), ['is it warm?', 'and now?']),
  showing(
    'examples of a provider',
    ({ BaseExampleProvider, ExampleTool }) => {
      class Chosen extends BaseExampleProvider {
        override getExamples(query: string) {
          return query === 'warm?' ? examples : [];
        }
      }
      return new ExampleTool(new Chosen());
    },
    ['warm?'],
  ),
];
