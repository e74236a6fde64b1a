import type { Requirement } from '../requirements.ts';

/** A test's title, as it stands in a file. */
export interface TestTitle {
  file: string;
  ids: string[];
}

const TITLE =
  /(?:\b(?:test|it|describe)(?<modifiers>(?:\.\w+(?:\([^()]*\))?)*)|\))(?:<[^()]*>)?\(\s*(?<quote>['"`])(?<title>(?:\\.|(?!\k<quote>)[^\\])*?)(?<ids>(?: \[[a-z][a-zA-Z0-9]*(?:\.[a-z][a-zA-Z0-9]*)*\])+)\k<quote>\s*,/g;

/** The titles of a test file that name ids; those of tests that never run are left out. */
export function titlesOf(file: string, source: string): TestTitle[] {
  return [...source.matchAll(TITLE)].flatMap(({ groups }) =>
    /\.(skip|todo)\b/.test(groups?.modifiers ?? '')
      ? []
      : [{ file, ids: [...(groups?.ids ?? '').matchAll(/\[([\w.]+)\]/g)].map(([, id]) => id ?? '') }],
  );
}

/** What is wrong with the manifest and the tests that name its ids: one line each. */
export function requirementProblems(
  requirements: readonly Pick<Requirement, 'id' | 'part' | 'behaviour'>[],
  titles: readonly TestTitle[],
  delivered: number,
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
  const shown = new Set<string>();
  for (const { file, ids } of titles) {
    for (const id of ids) {
      if (!known.has(id)) problems.push(`${file}: no row has the id ${id}`);
      shown.add(id);
    }
  }
  for (const { id, part } of requirements) {
    if (part !== 'later' && part <= delivered && !shown.has(id)) {
      problems.push(`${id}: part ${part} is delivered, and no test names it`);
    }
  }
  return problems;
}
