import { globSync, readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { adkDocument, DOCUMENT } from '../../scripts/document-adk.ts';
import { adkExports } from '../../scripts/documents/adk-export-list.ts';
import { ADK_EXPORTS, type AdkGroup, namesOf } from '../../scripts/documents/adk-exports.ts';
import { ABSENT_MEMBERS } from '../../src/absent-members.ts';
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

type Classes = Map<string, { base?: string | undefined; members: string[] }>;

/** Public and protected members of the classes of some files. */
function classesIn(files: string, indent: number): Classes {
  const member = new RegExp(`^ {${indent}}((?:\\w+ \\*?)*)(\\w+)[?!]?(?: =|[(:<;])`, 'gm');
  const classes: Classes = new Map();
  for (const path of globSync(files)) {
    const text = readFileSync(path, 'utf8');
    for (const [, name = '', rest = '', body = ''] of text.matchAll(
      /^export (?:declare )?(?:abstract )?class (\w+)([^{]*)\{\n([\s\S]*?)^\}/gm,
    )) {
      let heritage = rest;
      while (/<[^<>]*>/.test(heritage)) heritage = heritage.replaceAll(/<[^<>]*>/g, '');
      // ADK writes long parameters one a line.
      const whole = indent === 2 ? body : body.replaceAll(/\([^()]*\)/g, '()');
      const members = [...whole.matchAll(member)]
        .filter(([, modifiers, own]) => !/private|static/.test(modifiers ?? '') && own !== 'constructor')
        .map(([, , own = '']) => own);
      classes.set(name, { base: / extends (\w+)/.exec(heritage)?.[1], members });
    }
  }
  return classes;
}

function membersOf(classes: Classes, name: string | undefined): string[] {
  const found = name === undefined ? undefined : classes.get(name);
  return found === undefined ? [] : [...membersOf(classes, found.base), ...found.members];
}

describe('members of classes of @google/adk 2.0.0 [adk.members]', () => {
  const theirs = classesIn('node_modules/@google/adk/dist/types/**/*.d.ts', 4);
  const own = classesIn('src/**/*.ts', 2);
  const shared = [...theirs.keys()].filter((name) => own.has(name) && name in holdfast);

  test.each(shared)('%s has them all, or they are listed', (name) => {
    const has = membersOf(own, name);
    // Hooks of nodes are defined by programs, and read by none.
    const absent = new Set(
      membersOf(theirs, name).filter(
        (member) => !has.includes(member) && !/^(before|after)NodeCallback$/.test(member),
      ),
    );
    const { prototype } = Reflect.get(holdfast, name);
    const listed = ABSENT_MEMBERS.filter(
      ([kind]) =>
        kind.prototype === prototype || Object.prototype.isPrototypeOf.call(kind.prototype, prototype),
    ).flatMap(([, , members]) => members.split(' '));
    expect(listed.filter((member) => !has.includes(member)).toSorted()).toEqual([...absent].toSorted());
  });

  test('that are listed throw, with a row of the document that is there', () => {
    expect(shared.length).toBeGreaterThan(50);
    const rows = textOf(DOCUMENT)
      .split('\n')
      .filter((line) => line.startsWith('| '));
    for (const [kind, row, members] of ABSENT_MEMBERS) {
      expect(rows).toContainEqual(expect.stringContaining(row));
      for (const member of members.split(' ')) {
        const read = () => Reflect.get(Object.create(kind.prototype), member);
        expect(read).toThrow(
          `${kind.name}: ${member}: a member of @google/adk that Holdfast does not have: see ${row}`,
        );
      }
    }
  });

  test('are not read where an object is spread, logged, written as JSON or compared', () => {
    class Timed extends holdfast.LlmAgent {
      readonly timeout: number;
      constructor(timeout: number) {
        super({ name: 'timed', model: 'gemini-2.5-flash' });
        this.timeout = timeout;
      }
    }
    const plain = () => new holdfast.LlmAgent({ name: 'plain', model: 'gemini-2.5-flash' });
    const agent = plain();
    expect(() => [
      { ...agent },
      inspect(agent, { getters: true, showHidden: true }),
      JSON.stringify(agent),
    ]).not.toThrow();
    expect(agent).toEqual(plain());
    expect('canonicalInstruction' in agent).toBe(true);
    expect(new Timed(5).timeout).toBe(5);
  });
});

describe('docs/adk.md and docs/adk-exports.md', () => {
  test('is as `npm run document` makes it [adk.exports]', () => {
    expect(textOf(DOCUMENT)).toBe(adkDocument());
  });

  test('names with each difference a promise that there is', () => {
    const [, differences = ''] = proseOf(textOf('docs/adk.md')).split('\n## Differences\n');
    const [list = ''] = differences.split('\n[The exports');
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
