import { readFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import * as adk from '@google/adk';
import { expect, test } from 'vitest';
import { LlmAgent, LogLevel } from '../../src/index.ts';

const holdfast = new URL('../../src/index.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    next(
      specifier === '@google/adk' && context.parentURL?.includes('/types/programs/') ? holdfast : specifier,
      context,
    ),
});

/** A program of ADK with its import changed. The compiler checks the same with `tsconfig.programs.json`. */
const ported = async (name: string) => await import(`../types/programs/${name}.ts`);
const namesOf = (named: readonly { name: string }[]) => named.map(({ name }) => name);

test('programs of ADK are ported by changing the import, and run [types.adk]', async () => {
  const { rootAgent: weather } = await ported('weather');
  expect(weather).toBeInstanceOf(LlmAgent);
  expect(namesOf(weather.tools)).toEqual(['get_weather', 'get_time']);
  const { rootAgent: orders } = await ported('orders');
  expect(namesOf(orders.tools)).toEqual(['find_order', 'add_note', 'close_order']);
  const { rootAgent: shelves, plugins } = await ported('shelves');
  expect(namesOf(shelves.tools)).toEqual(['Shelves', 'pay', 'exit_loop', 'google_search']);
  expect(namesOf(plugins.plugins)).toEqual(['counting', 'logging_plugin', 'global_instruction', 'names']);
  const refunds = await ported('refunds');
  expect([refunds.refund, refunds.close, refunds.order].map(({ gate }) => gate?.confirmation?.by)).toEqual([
    'predicate',
    'flag',
    undefined,
  ]);
  expect(refunds.waiting([])).toEqual([]);
  const editors = await ported('editors');
  expect(editors.loopsIn(editors.rootAgent)).toEqual(['librarian', 'librarian', 'drafts 3']);
  expect(editors.copies.short).toMatchObject({ name: 'drafts', maxIterations: 1, parentAgent: undefined });
  expect(editors.copies.formal.findAgent('writer')).toMatchObject({ disallowTransferToPeers: true });
  expect(editors.copies.formal.findAgent('gate')).toBeInstanceOf(editors.Gate);
  const { inspect } = await ported('echo-model');
  expect(inspect(weather)).toBe('weather_agent Answers questions about the weather. 2 weather_agent');
  const { Parrot, request } = await ported('own-model');
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
