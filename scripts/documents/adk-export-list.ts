import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const DECLARATIONS = fileURLToPath(
  new URL('../../node_modules/@google/adk/dist/types/index.d.ts', import.meta.url),
);

const RE_EXPORT_ALL = /^export \* from '([^']+)';/gm;
const RE_EXPORT_LIST = /^export (?:type )?\{([^}]*)\}(?: from '[^']+')?;/gm;
const DECLARED = /^export (?:declare )?(?:abstract )?(?:class|function|const|enum|interface|type) (\w+)/gm;

/** Exports of `@google/adk`, values and types, by its declarations. Sorted. */
export function adkExports(): string[] {
  return [...namesIn(DECLARATIONS)].sort();
}

function namesIn(file: string): Set<string> {
  const text = readFileSync(file, 'utf8');
  const names = new Set([...text.matchAll(DECLARED)].map(([, name]) => name ?? ''));
  for (const [, list = ''] of text.matchAll(RE_EXPORT_LIST)) {
    for (const item of list.split(',')) {
      const name = item
        .trim()
        .replace(/^type /, '')
        .split(' as ')
        .at(-1);
      if (name) names.add(name);
    }
  }
  for (const [, from = ''] of text.matchAll(RE_EXPORT_ALL)) {
    const inner = resolve(dirname(file), from.replace(/\.js$/, '.d.ts'));
    for (const name of namesIn(inner)) names.add(name);
  }
  return names;
}
