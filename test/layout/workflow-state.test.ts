import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = globSync('{workflows,src/{protocol,events}}/**/*.ts', { cwd: root });

/** Lines by which a module keeps something beside its functions and constants. */
function stateIn(text: string): string[] {
  const variable = /^(export )?(let|var) /;
  const collection = /^(export )?const \w+\b(?!: Readonly(Map|Set)<).* = (new |\[\];|\{\};|Object\.create)/;
  const member = /^ {2}((private|protected|public) )?static (?!readonly )(async )?#?\w+( = |: |;)/;
  return text.split('\n').filter((line) => variable.test(line) || collection.test(line) || member.test(line));
}

test('state of a module is found', () => {
  const stateful = [
    'let a = 0;',
    'export let b: number;',
    'const c = new Map<string, number>();',
    'export const d: Map<string, number> = new Map();',
    'const e: string[] = [];',
    'const h: Map<string, () => void> = new Map();',
    'const i: Record<string, number> = {};',
    '  static f = 1;',
    '  private static g: string;',
  ];
  expect(stateIn(stateful.join('\n'))).toEqual(stateful);
  const stateless = [
    'const a: ReadonlySet<string> = new Set(["b"]);',
    'const c = [1, 2];',
    'const d = () => new Map();',
    '  static readonly e = 1;',
    '  static async f() {',
    '  let g = 0;',
  ];
  expect(stateIn(stateless.join('\n'))).toEqual([]);
});

test('workflows share their modules, which keep no state [layout.workflows]', () => {
  expect(sources.length).toBeGreaterThan(50);
  const stateful = sources.flatMap((path) =>
    stateIn(readFileSync(join(root, path), 'utf8')).map((line) => `${path}: ${line}`),
  );
  expect(stateful).toEqual([]);
});
