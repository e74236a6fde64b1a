import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { call, type GeminiScript, startMockGemini, text } from '../../src/testing/index.ts';
import { HoldfastProcess } from '../cli/holdfast-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const place = (name: string) => join(root, 'examples/adk', `${name}.ts`);

/** What the model answers in each program, by what it is asked; and some of what the program prints. */
const PROGRAMS: Record<string, { script: GeminiScript; prints: string[] }> = {
  'library-desk': {
    script: (_request, { userText, functionResponses: [{ name, response } = {}] }) => {
      if (userText.startsWith('Is B-7')) {
        if (name === undefined) return call('find_book', { mark: 'B-7' });
        if (name === 'find_book') return call('lend_book', { mark: 'B-7', weeks: 3 });
        return text('It is yours for three weeks.');
      }
      if (name === undefined) return call('lend_book', { mark: 'B-9' });
      return text(`Sorry: ${response?.error}`);
    },
    prints: [
      'find_book {"mark":"B-7"}',
      '= {"lent":"B-7","weeks":3,"loans":1}',
      'user:loans: ["B-7"]',
      'last_loan: {"mark":"B-7","weeks":3}',
    ],
  },
  'payout-guard': {
    script: (_request, { userText, functionResponses: [done] }) => {
      if (done !== undefined) return text(`Done: ${JSON.stringify(done.response)}`);
      return call('pay', { payee: 'printer', amount: userText.includes('9000') ? 9000 : 120 });
    },
    prints: [
      '= {"paid":"120 EUR to printer","receipt":"R-1"}',
      '= {"error":"pay pays 500 at most, not 9000"}',
      'cashier: I pay no casinos.',
      'stored: Pay 120 to the printer, account (account number).',
      'asked 5 times',
    ],
  },
  'weather-station': {
    script: ({ tools = [] }, { functionResponses: [read] }) => {
      const offered = tools.flatMap((tool) =>
        'functionDeclarations' in tool ? (tool.functionDeclarations ?? []).map(({ name }) => name) : [],
      );
      if (read === undefined) return call('read_instrument', { instrument: 'wind' });
      return text(`The wind blows at ${read.response?.value} m/s; I could ${offered.join(' or ')}.`);
    },
    prints: [
      'visitor: The wind blows at 11.4 m/s; I could read_instrument. (as it was streamed)',
      'engineer: The wind blows at 11.4 m/s; I could read_instrument or calibrate. (as it was streamed)',
    ],
  },
  'trip-planner': {
    script: ({ generationConfig }, { userText }) => {
      if (generationConfig?.responseMimeType !== 'application/json') return text('Too few museums.');
      const days = userText.startsWith('Better') ? ['museum', 'another museum'] : ['river', 'market'];
      return text(
        JSON.stringify({ place: 'Tartu', days: days.map((what, index) => ({ day: index + 1, what })) }),
      );
    },
    prints: ['Tartu: river, market', 'day 2: another museum', '4 events; stored: museum, another museum'],
  },
};

const folder = mkdtempSync(join(tmpdir(), 'holdfast-adk-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(() => {
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const name of Object.keys(PROGRAMS)) {
    const source = readFileSync(place(name), 'utf8');
    writeFileSync(join(folder, `${name}.ts`), source.replace("'holdfast'", "'@google/adk'"));
  }
});

describe.concurrent('the ADK programs', () => {
  test('compile with the import of ADK, as they do with ours [adk.programs]', ({ expect }) => {
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { paths: {} },
      include: ['*.ts'],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
  });

  test.for(Object.entries(PROGRAMS))(
    '%s says the same with both imports [adk.programs]',
    async ([name, { script, prints }], { expect }) => {
      await using gemini = await startMockGemini({ script });
      const { stdout, stderr } = await run(join(folder, `${name}.ts`), gemini.env);
      const theirs = withoutLog(stdout);
      expect(theirs, stderr).not.toBe('');
      for (const part of prints) expect(theirs).toContain(part);
      const ours = await run(place(name), gemini.env);
      expect(ours.stdout, ours.stderr).toBe(theirs);
      expect(ours.code).toBe(0);
      expect(gemini.refusals).toEqual([]);
    },
  );
});

/** ADK logs on standard output. */
function withoutLog(stdout: string): string {
  return stdout
    .split('\n')
    .filter((line) => !line.includes(': [ADK] '))
    .join('\n');
}

async function run(program: string, env: Record<string, string>) {
  const temporary = { TMPDIR: folder, TEMP: folder };
  return await new HoldfastProcess([], {
    program,
    env: { ...env, ...temporary, HOLDFAST_QUIET: '1' },
  }).finished();
}
