import { readFile } from 'node:fs/promises';
import * as adk from '@google/adk';
import { expect, test } from 'vitest';
import { LogLevel } from '../../src/index.ts';

const PROGRAMS = ['weather', 'orders', 'echo-model', 'own-model', 'shelves', 'refunds', 'editors'];

const source = (name: string) => readFile(new URL(`../types/programs/${name}.ts`, import.meta.url), 'utf8');

// The compiler checks both; this checks that they are one program.
test.each(PROGRAMS)('%s: an ADK program is ported by changing the import [types.adk]', async (name) => {
  const [adk, holdfast] = await Promise.all([source(`${name}.adk`), source(`${name}.holdfast`)]);
  expect(layoutless(holdfast)).toBe(layoutless(adk.replace(`'@google/adk'`, `'../../../src/index.ts'`)));
});

test('the ported programs run [types.adk]', async () => {
  const { rootAgent: weather } = await import('../types/programs/weather.holdfast.ts');
  expect(weather.tools.map(({ name }) => name)).toEqual(['get_weather', 'get_time']);
  const { rootAgent: orders } = await import('../types/programs/orders.holdfast.ts');
  expect(orders.tools.map(({ name }) => name)).toEqual(['find_order', 'add_note', 'close_order']);
  const { rootAgent: shelves, plugins } = await import('../types/programs/shelves.holdfast.ts');
  expect(shelves.tools.map(({ name }) => name)).toEqual(['Shelves', 'pay', 'exit_loop', 'google_search']);
  expect(plugins.plugins.map(({ name }) => name)).toEqual([
    'counting',
    'logging_plugin',
    'global_instruction',
    'names',
  ]);
  const refunds = await import('../types/programs/refunds.holdfast.ts');
  expect([refunds.refund, refunds.close, refunds.order].map(({ gate }) => gate?.confirmation?.by)).toEqual([
    'predicate',
    'flag',
    undefined,
  ]);
  expect(refunds.waiting([])).toEqual([]);
  const editors = await import('../types/programs/editors.holdfast.ts');
  expect(editors.loopsIn(editors.rootAgent)).toEqual(['librarian', 'librarian', 'drafts 3']);
  expect(editors.copies.short).toMatchObject({ name: 'drafts', maxIterations: 1, parentAgent: undefined });
  expect(editors.copies.formal.findAgent('writer')).toMatchObject({ disallowTransferToPeers: true });
  expect(editors.copies.formal.findAgent('gate')).toBeInstanceOf(editors.Gate);
  const { inspect } = await import('../types/programs/echo-model.holdfast.ts');
  expect(inspect(weather)).toBe('weather_agent Answers questions about the weather. 2 weather_agent');
  const { Parrot, request } = await import('../types/programs/own-model.holdfast.ts');
  const partial: unknown[] = [];
  for await (const said of new Parrot({ model: 'parrot-1' }).generateContentAsync(request, true)) {
    partial.push(said.partial);
  }
  expect(partial).toEqual([true, undefined]);
});

test('the entry points of ADK are entry points here, with all exports [types.adk]', async () => {
  const exportsOf = async (path: string): Promise<Record<string, unknown>> =>
    JSON.parse(await readFile(new URL(`../../${path}package.json`, import.meta.url), 'utf8')).exports;
  const theirs = Object.keys(await exportsOf('node_modules/@google/adk/'));
  const ours = await exportsOf('');
  for (const path of theirs.filter((each) => /^\.\/(?!dist|package)/.test(each))) {
    expect(ours[path], path).toEqual(ours['.']);
  }
});

test('a level of the log has its number and its name, as in the enum of ADK [types.adk]', () => {
  expect(LogLevel).toEqual({ ...adk.LogLevel });
  expect(LogLevel[1]).toBe('INFO');
  const level: LogLevel = LogLevel.WARN;
  expect(LogLevel[level].toLowerCase()).toBe('warn');
});

/** Linters sort and break imports by what stands in them. */
function layoutless(text: string): string {
  const [imports, ...rest] = text.split(/^(?=(?:const|interface|function|export))/m);
  return [
    imports
      ?.split(/[\s,;]+/)
      .sort()
      .join(' '),
    ...rest,
  ].join('');
}
