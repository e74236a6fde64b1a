import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { relative } from 'node:path';
import { parse } from '@swc/core';
import { expect, test } from 'vitest';
import { processorTime } from '../setup/processor-time.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const LENGTH = 16_000;
/** Milliseconds of the processor for one text: a regular expression whose time grows with its square takes ten times as much. */
const LONGEST = 25;

interface Found {
  regex: RegExp;
  files: Set<string>;
}

/** The regular expressions that stand in what is shipped, each once. */
async function found(): Promise<Map<string, Found>> {
  const all = new Map<string, Found>();
  for await (const file of glob('{src,activities,workflows,worker}/**/*.ts', { cwd: ROOT })) {
    const text = readFileSync(`${ROOT}${file}`, 'utf8');
    if (!text.includes('/')) continue;
    const visit = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return;
      if ('type' in node && node.type === 'RegExpLiteral' && 'pattern' in node && 'flags' in node) {
        const regex = new RegExp(String(node.pattern), String(node.flags));
        const known = all.get(String(regex)) ?? { regex, files: new Set() };
        known.files.add(relative('.', file));
        all.set(String(regex), known);
      }
      for (const field of Object.values(node)) visit(field);
    };
    visit(await parse(text, { syntax: 'typescript', target: 'es2024' }));
  }
  return all;
}

const CLASSES: Record<string, string> = {
  s: ' ',
  S: 'a',
  w: 'a',
  d: '1',
  D: 'a',
  W: '-',
  n: '\n',
  p: 'a',
  P: '\n',
};

/** Pieces of text that a regular expression looks at: its characters, and its words. */
function pieces({ source }: RegExp): string[] {
  const classes = [...source.matchAll(/\\([sSwdDWnpP])/g)].map(([, name = '']) => CLASSES[name] ?? '');
  const plain = source
    .replaceAll(/\\[a-zA-Z]|\(\?<?[:=!]?|[()|*?$^]|\{\d+,?\d*\}/g, ' ')
    .replaceAll('\\', '');
  const words = plain.split(/[ [\]+]+/).filter((word) => word !== '');
  return [...new Set([...classes, ...plain.replaceAll(' ', ''), ...words, 'a', '1', ' '])].slice(0, 60);
}

function texts(regex: RegExp): string[] {
  const all = pieces(regex);
  const words = all.filter((piece) => piece.length > 1);
  const pairs = words.flatMap((word) =>
    all.filter((piece) => piece.length === 1).map((piece) => word + piece),
  );
  return ['', ...words.slice(0, 4)].flatMap((start) =>
    [...all, ...pairs.slice(0, 40)].map((piece) => `${start}${piece.repeat(LENGTH / piece.length)}\0\n!`),
  );
}

function milliseconds(regex: RegExp, text: string): number {
  const took = processorTime();
  text.replace(regex, '');
  return took();
}

test('no regular expression takes the square of the time for twice the text [text.linear]', async () => {
  const slow: string[] = [];
  const all = await found();
  expect(all.size).toBeGreaterThan(150);
  for (const { regex, files } of all.values()) {
    // The first look compiles it, and the process collects its garbage in any.
    const text = texts(regex).find((each) =>
      Array.from({ length: 5 }).every(() => milliseconds(regex, each) > LONGEST),
    );
    if (text !== undefined)
      slow.push(`${regex} in ${[...files].join(', ')}: ${JSON.stringify(text.slice(0, 60))}`);
  }
  expect(slow).toEqual([]);
});
