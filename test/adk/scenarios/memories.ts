import { agentOf } from '../cast.ts';
import type { Library, Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

const EARLIER: NonNullable<Scenario['remembered']> = [
  ['user', 'My dog is called Balu'],
  ['desk', 'Noted: Balu is a dog'],
  ['user', 'I live in Lima'],
];

type Tools = (library: Library) => object[];

function remembering(
  name: string,
  tools: Tools,
  more: Pick<Scenario, 'script' | 'turns' | 'remembered'>,
): Scenario {
  return {
    name,
    build: (library, model, agent) => ({
      agent: agentOf(library, agent, model, { tools: tools(library) as never[] }),
    }),
    ...more,
  };
}

const load: Tools = ({ LoadMemoryTool }) => [new LoadMemoryTool()];
const preload: Tools = ({ PreloadMemoryTool }) => [new PreloadMemoryTool()];
const searching: Tools = ({ FunctionTool }) => [
  new FunctionTool({
    name: 'look',
    description: 'Looks it up.',
    execute: async (_args: unknown, context) => {
      const { memories = [] } = (await context?.searchMemory('lima')) ?? {};
      return { found: memories.map(({ author, content, timestamp }) => ({ author, content, timestamp })) };
    },
  }),
];

/** Memories of earlier sessions that agents load. */
export const MEMORIES: readonly Scenario[] = [
  remembering('memories that the model loads', load, {
    remembered: EARLIER,
    script: [
      [calls(['load_memory', { query: 'dog' }])],
      [calls(['load_memory', { query: 'zebra' }])],
      [text('Balu')],
    ],
    turns: ['What is the name of my dog?'],
  }),
  remembering('load_memory without a memory service', load, {
    script: [[calls(['load_memory', { query: 'dog' }])], [text('Hm')]],
    turns: ['What is the name of my dog?'],
  }),
  remembering('memories that are preloaded', preload, {
    remembered: EARLIER,
    script: [[text('Balu')], [text('no')]],
    turns: ['my dog', 'zebras'],
  }),
  remembering('preload_memory without a memory service', preload, {
    script: [[text('Hm')]],
    turns: ['my dog'],
  }),
  remembering('a tool that searches the memory', searching, {
    remembered: EARLIER,
    script: [[calls(['look', {}])], [text('Lima')]],
    turns: ['Where do I live?'],
  }),
];
