import { agentOf } from '../cast.ts';
import type { Library, Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

const base64 = (value: string) => Buffer.from(value).toString('base64');

/** Saves a part under a name, and says which version that is. */
function savingTool({ FunctionTool }: Library, parts: Record<string, object>) {
  return new FunctionTool({
    name: 'save',
    description: 'Saves a file.',
    execute: async (_args: unknown, context) => {
      const versions: Record<string, number | undefined> = {};
      for (const [name, part] of Object.entries(parts))
        versions[name] = await context?.saveArtifact(name, part);
      return { versions };
    },
  });
}

function loading(name: string, parts: Record<string, object>, asked: readonly string[]): Scenario {
  return {
    name,
    script: [
      [calls(['save', {}])],
      [text('saved')],
      [calls(['load_artifacts', { artifact_names: [...asked] }])],
      [text('read')],
      [text('on')],
    ],
    build: (library, model, agent) => ({
      agent: agentOf(library, agent, model, {
        tools: [savingTool(library, parts), new library.LoadArtifactsTool()],
      }),
    }),
    turns: ['save it', 'read it', 'go on'],
  };
}

/** Artifacts that tools save and the model loads. */
export const ARTIFACTS: readonly Scenario[] = [
  loading('text that the model loads', { 'notes.txt': { text: 'Noted.' } }, ['notes.txt']),
  loading(
    'artifacts of several types',
    {
      'a.png': { inlineData: { data: base64('png'), mimeType: 'image/png' } },
      'b.csv': { inlineData: { data: base64('a,b'), mimeType: 'text/csv; charset=utf-8' } },
      'c.json': { inlineData: { data: base64('{}'), mimeType: 'application/json' } },
      'd.bin': { inlineData: { data: base64('x'.repeat(2_000)), mimeType: 'application/octet-stream' } },
    },
    ['d.bin', 'c.json', 'b.csv', 'a.png'],
  ),
  loading('an artifact of the user, with and without its prefix', { 'user:profile': { text: 'Ada' } }, [
    'profile',
    'user:profile',
  ]),
  loading('an artifact that is not there', { 'a.txt': { text: 'a' } }, ['missing.txt', 'a.txt']),
  loading('no artifact is asked for', { 'a.txt': { text: 'a' } }, []),
  {
    name: 'artifacts in an instruction',
    script: [[calls(['save', {}])], [text('saved')], [text('read')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        instruction:
          'Notes: {artifact.a.txt?}; of the user: {artifact.user:b.txt?}; none: {artifact.c.txt?}.',
        tools: [savingTool(library, { 'a.txt': { text: 'Noted {b}.' }, 'user:b.txt': { text: 'B' } })],
      }),
    }),
    turns: ['save', 'read'],
  },
  {
    name: 'versions of one name',
    script: [
      [calls(['save', {}])],
      [text('one')],
      [calls(['save', {}])],
      [text('two')],
      [calls(['show', {}])],
      [text('shown')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          savingTool(library, { 'a.txt': { text: 'a' } }),
          new library.FunctionTool({
            name: 'show',
            description: 'Shows files.',
            execute: async (_args: unknown, context) => ({
              newest: await context?.loadArtifact('a.txt'),
              first: await context?.loadArtifact('a.txt', 0),
              none: (await context?.loadArtifact('a.txt', 9)) ?? 'none',
              names: await context?.listArtifacts(),
            }),
          }),
        ],
      }),
    }),
    turns: ['save', 'save again', 'show'],
  },
];
