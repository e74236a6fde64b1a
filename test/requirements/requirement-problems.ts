import type { Requirement } from '../requirements.ts';
import type { Tier } from './row.ts';

/** A test's title, as it stands in a file. */
export interface TestTitle {
  file: string;
  ids: string[];
  /** The first tier that runs it. A deep run repeats tests of `npm test` and adds others. */
  tier: Tier;
}

const TITLE =
  /(?:\b(?:test|it|describe)(?<modifiers>(?:\.\w+(?:\([^()]*\))?)*)|\))(?:<[^()]*>)?\(\s*(?<quote>['"`])(?<title>(?:\\.|(?!\k<quote>)[^\\])*?)(?<ids>(?: \[[a-z][a-zA-Z0-9]*(?:\.[a-z][a-zA-Z0-9]*)*\])+)\k<quote>\s*,/g;

/** What a file adds in a deep run, up to the end of the block. */
const DEEP_BLOCK = /^(?<indent> *)if \(isDeep\) \{\n[\s\S]*?^\k<indent>\}/gm;

/** The titles of a test file that name ids; those of tests that never run are left out. */
export function titlesOf(file: string, source: string): TestTitle[] {
  const deep = [...source.matchAll(DEEP_BLOCK)].map(({ index, 0: block }) => [index, index + block.length]);
  const isDeep = (at: number) =>
    file.endsWith('.deep.ts') || deep.some(([start = 0, end = 0]) => start < at && at < end);
  return [...source.matchAll(TITLE)].flatMap(({ index, groups }) =>
    /\.(skip|todo)\b/.test(groups?.modifiers ?? '')
      ? []
      : [
          {
            file,
            ids: [...(groups?.ids ?? '').matchAll(/\[([\w.]+)\]/g)].map(([, id]) => id ?? ''),
            tier: isDeep(index) ? 'deep' : 'test',
          },
        ],
  );
}

/** What is wrong with the manifest and the tests that name its ids: one line each. */
export function requirementProblems(
  requirements: readonly Pick<Requirement, 'id' | 'isPlanned' | 'behaviour' | 'tier'>[],
  titles: readonly TestTitle[],
): string[] {
  const problems: string[] = [];
  const known = new Set<string>();
  for (const { id, behaviour } of requirements) {
    if (known.has(id)) problems.push(`${id}: two rows have this id`);
    known.add(id);
    if (!/^[a-z][a-zA-Z0-9]*(\.[a-z][a-zA-Z0-9]*)*$/.test(id))
      problems.push(`${id}: ids are words with dots between`);
    if (!/^\S.*\.$/.test(behaviour)) problems.push(`${id}: the behaviour is no sentence`);
  }
  const shown = new Map<string, Tier>();
  for (const { file, ids, tier } of titles) {
    for (const id of ids) {
      if (!known.has(id)) problems.push(`${file}: no row has the id ${id}`);
      if (shown.get(id) !== 'test') shown.set(id, tier);
    }
  }
  for (const { id, isPlanned, tier } of requirements) {
    const shownBy = shown.get(id);
    if (shownBy === undefined) {
      if (!isPlanned) problems.push(`${id}: no test names it`);
    } else if (shownBy !== tier) {
      problems.push(`${id}: its row says ${runOf(tier)}, and ${runOf(shownBy)} is the first to show it`);
    }
  }
  return problems;
}

function runOf(tier: Tier): string {
  return tier === 'deep' ? 'npm run test:deep' : 'npm test';
}
