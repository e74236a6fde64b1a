import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { behaviourDifferences } from './documents/adk-behaviour.ts';
import { ADK_EXPORTS, type AdkGroup, namesOf } from './documents/adk-exports.ts';
import { code, table } from './documents/markdown.ts';

export const DOCUMENT = 'docs/adk-exports.md';

/** docs/adk-exports.md: how agents behave that run on both packages, and the list of ADK's exports. */
export function adkDocument(): string {
  return `${[
    '# The exports of ADK',
    '<!-- Made by `npm run document`: change scripts/documents/adk-exports.ts, or the scenarios in test/adk. -->',
    '## Behaviour',
    'Tests play the same agents on Holdfast and on ADK 2.0.0. Requests of models, events, state and calls of user code are equal, ' +
      'but for these:',
    behaviourDifferences()
      .map((sentence) => `- ${sentence}`)
      .join('\n'),
    '## Exports',
    `The exports of \`@google/adk\` 2.0.0, types included, that differ. The other ${count('same')} do what ADK’s do.`,
    `### Ours (${count('ours')})`,
    table(
      ['Export', 'How it differs'],
      groups('ours').map((group) => [listOf(namesOf(group)), group.how]),
    ),
    `### Not yet (${count('not yet')})`,
    table(
      ['What', 'Exports'],
      groups('not yet').map((group) => [group.what, listOf(namesOf(group))]),
    ),
    `### Never (${count('never')})`,
    table(
      ['Why', 'Exports'],
      groups('never').map((group) => [group.why, listOf(namesOf(group))]),
    ),
  ].join('\n\n')}\n`;
}

function groups<Kind extends AdkGroup['kind']>(kind: Kind): Extract<AdkGroup, { kind: Kind }>[] {
  return ADK_EXPORTS.filter((group): group is Extract<AdkGroup, { kind: Kind }> => group.kind === kind);
}

function count(kind: AdkGroup['kind']): number {
  return groups(kind).flatMap(namesOf).length;
}

function listOf(names: readonly string[]): string {
  return names
    .toSorted((one, other) => one.localeCompare(other, 'en'))
    .map(code)
    .join(', ');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(fileURLToPath(new URL(`../${DOCUMENT}`, import.meta.url)), adkDocument());
}
