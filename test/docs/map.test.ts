import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { documents, root, textOf } from './documents.ts';

const PATH =
  /`((?:src|test|docs|bench|scripts|bin|examples|deploy)\/[\w./-]*|(?:workflows|activities|worker)(?:\/[\w./-]*)?)(?=`)/g;

const pathsOf = (text: string) => [...text.matchAll(PATH)].map(([, path = '']) => path);

const linesOf = (path: string) => textOf(path).trimEnd().split('\n').length;

describe.each([
  'ARCHITECTURE.md',
  'AGENTS.md',
  ...documents().filter((path) => path.includes('/decisions/')),
])('%s', (path) => {
  test('names files and folders that there are [docs.current]', () => {
    expect(pathsOf(textOf(path)).filter((named) => !existsSync(root + named))).toEqual([]);
  });
});

test('the map is read in five minutes [docs.current]', () => {
  expect(pathsOf(textOf('ARCHITECTURE.md')).length).toBeGreaterThan(50);
  expect(linesOf('ARCHITECTURE.md')).toBeLessThanOrEqual(200);
  expect(linesOf('AGENTS.md')).toBeLessThanOrEqual(120);
});

test('every room is on the map [docs.current]', () => {
  const rooms = readdirSync(`${root}src`, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const named = pathsOf(textOf('ARCHITECTURE.md'));
  expect(rooms.map(({ name }) => `src/${name}`).filter((room) => !named.includes(room))).toEqual([]);
});

test('the rooms stand in the order of the dependency rules [docs.current]', () => {
  const { forbidden } = createRequire(import.meta.url)(`${root}.dependency-cruiser.cjs`) as {
    forbidden: { name: string }[];
  };
  const order = forbidden.flatMap(({ name }) => /^(.*)-knows-no-room-above$/.exec(name)?.[1] ?? []);
  const [, table = ''] = textOf('ARCHITECTURE.md').split('| room | what it holds |');
  const cells = (table.split('\n\n')[0] ?? '').split('\n').map((row) => row.split('|')[1] ?? '');
  const named = cells.flatMap((cell) => pathsOf(cell)).map((path) => path.replace('src/', ''));
  expect(order.length).toBeGreaterThan(20);
  expect(named).toEqual(order);
});

test('every decision is in the index [docs.current]', () => {
  const index = textOf('docs/decisions/README.md');
  const records = readdirSync(`${root}docs/decisions`).filter((name) => name !== 'README.md');
  expect(records.filter((name) => !index.includes(`(${name})`))).toEqual([]);
});

test('docs/llms.txt links to every page, and to nothing that is missing [docs.current]', () => {
  const text = textOf('docs/llms.txt');
  const links = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+)\): .+$/gm)].map(([, target = '']) => target);
  expect(text).toMatch(/^# Holdfast\n\n> .+\n/);
  expect(text.split('\n').filter((line) => line.startsWith('- '))).toHaveLength(links.length);
  const targets = links.map((target) => normalize(join(dirname('docs/llms.txt'), target)));
  expect(targets.filter((target) => !existsSync(root + target))).toEqual([]);
  const pages = documents().filter((path) => !/\/decisions\/\d/.test(path));
  expect(pages.filter((path) => !targets.includes(path))).toEqual([]);
});
