import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const TIER = join(root, 'test/setup/tier.ts');
const IMPORTED = /\bfrom '(\.[^']*\.ts)'/g;

/** The test files of `npm run test:deep`, seen from the root: those of its own, and those that do more there. */
export function deepFiles(): { own: string[]; more: string[] } {
  const known = new Map<string, boolean>();
  /** Whether a module, or one that it imports, asks for its tier. */
  const asks = (path: string): boolean => {
    const answer = known.get(path);
    if (answer !== undefined) return answer;
    known.set(path, path === TIER);
    const asked = path === TIER || importsOf(path).some(asks);
    known.set(path, asked);
    return asked;
  };
  const files = (pattern: string) => globSync(pattern, { cwd: root }).sort();
  return {
    own: files('test/**/*.deep.ts'),
    more: files('test/**/*.test.ts').filter((file) => asks(join(root, file))),
  };
}

/** Modules of the tests alone: no other knows its tier. What a text quotes may name modules that are not there. */
function importsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(IMPORTED)]
    .map(([, specifier = '']) => join(dirname(path), specifier))
    .filter((imported) => imported.startsWith(join(root, 'test/')) && existsSync(imported));
}
