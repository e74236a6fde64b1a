import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { adkDocument, DOCUMENT } from '../../scripts/document-adk.ts';
import { adkExports } from '../../scripts/documents/adk-export-list.ts';
import { ADK_EXPORTS, type AdkGroup, namesOf } from '../../scripts/documents/adk-exports.ts';
import * as holdfast from '../../src/index.ts';
import { REQUIREMENTS } from '../requirements.ts';
import { proseOf, textOf } from './documents.ts';

const named = (...kinds: AdkGroup['kind'][]) =>
  ADK_EXPORTS.filter(({ kind }) => kinds.includes(kind)).flatMap(namesOf);

/** Values and types that a module exports by a list, and those of modules of which it exports all types. */
function exportsOf(file: string): string[] {
  const text = textOf(file);
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list.split(',').map(
      (item) =>
        item
          .trim()
          .replace(/^type /, '')
          .split(' as ')
          .at(-1) ?? '',
    ),
  );
  const types = [...text.matchAll(/^export type \* from '\.\/(.*)';/gm)].flatMap(([, path = '']) =>
    [...textOf(`src/${path}`).matchAll(/^export (?:type|interface) (\w+)/gm)].map(([, name = '']) => name),
  );
  return [...listed, ...types];
}

const ours = new Set(exportsOf('src/index.ts'));

describe('the exports of @google/adk 2.0.0 [adk.exports]', () => {
  test('are all known: what it has when it runs is in its declarations', () => {
    expect(Object.keys(adk).filter((name) => !adkExports().includes(name))).toEqual([]);
    expect(adkExports()).toEqual(expect.arrayContaining(['RunnerConfig', 'Session', 'Workflow', 'toA2a']));
  });

  test('are each the same, ours, not yet, or never', () => {
    expect(named('same', 'ours', 'not yet', 'never').toSorted()).toEqual(adkExports());
  });

  test('are exported by Holdfast where they are said to be the same or ours, and only then', () => {
    expect(named('same', 'ours').filter((name) => !ours.has(name))).toEqual([]);
    expect(named('not yet', 'never').filter((name) => ours.has(name))).toEqual([]);
    const values = named('same', 'ours').filter((name) => name in adk);
    expect(values.filter((name) => !(name in holdfast))).toEqual([]);
    expect(values.length).toBeGreaterThan(50);
  });
});

describe('docs/adk.md', () => {
  test('is as `npm run document` makes it [adk.exports]', () => {
    expect(textOf(DOCUMENT)).toBe(adkDocument());
  });

  test('names with each difference a promise that there is', () => {
    const [, differences = ''] = proseOf(textOf(DOCUMENT)).split('\n## Differences\n');
    const [list = ''] = differences.split('\n<!--');
    const items = list.split(/^- /m).slice(1);
    expect(items.length).toBeGreaterThan(20);
    const known = REQUIREMENTS.map(({ id }) => id);
    for (const item of items) {
      const text = item.replaceAll(/\s+/g, ' ').split(' **')[0] ?? '';
      const ids = /((?: `[a-z][\w.]*`)+) ?$/.exec(text)?.[1]?.match(/[a-z][\w.]*/g) ?? [];
      expect(ids.length, text).toBeGreaterThan(0);
      for (const id of ids) expect(known, text).toContain(id);
    }
  });
});
