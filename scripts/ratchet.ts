import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PRODUCT = '{src,worker,activities,workflows,bin}/**/*.{ts,sql,js}';
const TESTS = 'test/**/*.{ts,mjs,cjs,js,sql}';

/** A file of fewer lines with one importer is a fragment of that. */
const SMALL = 60;

/** Counts of things that cost a reader the more of them there are. */
export interface HouseCounts {
  productLines: number;
  productFiles: number;
  /** Product sources of fewer than 60 lines that one product source imports. */
  smallFiles: number;
  /** Classes whose base is an error, through any number of classes. */
  errorClasses: number;
  /** `...(value === undefined ? {} : …)` */
  conditionalSpreads: number;
  testLines: number;
}

/** scripts/ratchet.json. */
export interface Ratchet {
  limits: HouseCounts;
  /** Parts that are under way, and what each may add. At the end of one its adds join the limits, and it goes. */
  budgets: { for: string; adds: Partial<HouseCounts> }[];
}

/** @param root folder of the repository */
export function countHouse(root: string): HouseCounts {
  const product = textsOf(root, PRODUCT);
  const sources = new Map([...product].filter(([path]) => path.endsWith('.ts')));
  return {
    productLines: linesOf(product),
    productFiles: product.size,
    smallFiles: smallFiles(sources),
    errorClasses: errorClasses([...sources.values()]),
    conditionalSpreads: [...product.values()].flatMap((text) => text.match(/=== undefined\s*\? \{\}/g) ?? [])
      .length,
    testLines: linesOf(textsOf(root, TESTS)),
  };
}

/** A sentence for each count above its limit; a missing limit allows nothing. */
export function aboveLimits(counts: HouseCounts, { limits, budgets }: Ratchet): string[] {
  return namesOf(counts).flatMap((name) => {
    const limit = budgets.reduce((sum, { adds }) => sum + (adds[name] ?? 0), limits[name] ?? 0);
    const more = counts[name] - limit;
    if (more <= 0) return [];
    return `${name}: ${counts[name]}, ${more} above the limit of ${limit}. Delete as much as you add, or give your part a budget in scripts/ratchet.json.`;
  });
}

function textsOf(root: string, files: string): Map<string, string> {
  return new Map(
    globSync(files, { cwd: root }).map((path) => [path, readFileSync(join(root, path), 'utf8')]),
  );
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}

function linesOf(texts: ReadonlyMap<string, string>): number {
  return [...texts.values()].reduce((sum, text) => sum + linesIn(text), 0);
}

function smallFiles(sources: ReadonlyMap<string, string>): number {
  const imported = [...sources].flatMap(([path, text]) => {
    const named = text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
    return [...new Set([...named].map(([, name = '']) => join(dirname(path), name)))];
  });
  const importers = Map.groupBy(imported, (path) => path);
  return [...sources].filter(([path, text]) => linesIn(text) < SMALL && importers.get(path)?.length === 1)
    .length;
}

function errorClasses(sources: readonly string[]): number {
  const classes = sources.flatMap((text) => [
    ...text.matchAll(/^[ \t]*(?:export )?(?:abstract )?class (\w+)(?:<[^{]*>)?\s+extends (\w+)/gm),
  ]);
  const errors = new Set(['Error', 'ApplicationFailure', 'codedError']);
  const known = () => classes.filter(([, , base = '']) => errors.has(base));
  for (let before = 0; before < errors.size; ) {
    before = errors.size;
    for (const [, name = ''] of known()) errors.add(name);
  }
  return known().length;
}

function namesOf(counts: HouseCounts): (keyof HouseCounts)[] {
  return Object.keys(counts) as (keyof HouseCounts)[];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = fileURLToPath(new URL('ratchet.json', import.meta.url));
  const ratchet: Ratchet = JSON.parse(readFileSync(file, 'utf8'));
  const counts = countHouse(fileURLToPath(new URL('..', import.meta.url)));
  const above = aboveLimits(counts, ratchet);
  const lower = namesOf(counts).filter((name) => counts[name] < ratchet.limits[name]);
  const told = process.env.CI ? 'could be' : 'is now';
  for (const problem of above) console.error(problem);
  if (above.length > 0) process.exitCode = 1;
  else if (lower.length > 0 && ratchet.budgets.length === 0) {
    // In CI a check writes nothing.
    if (!process.env.CI) writeFileSync(file, `${JSON.stringify({ ...ratchet, limits: counts }, null, 2)}\n`);
    for (const name of lower)
      console.log(`${name}: the limit ${told} ${counts[name]}, after ${ratchet.limits[name]}.`);
  }
}
