import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContextArtifacts } from '../../src/artifacts/context-artifacts.ts';
import { linesOf } from '../../src/artifacts/text-lines.ts';
import type { Context } from '../../src/tools/context.ts';
import { FunctionTool } from '../../src/tools/function-tool.ts';
import { SpooledArtifact } from '../../src/tools/spooled/spooled-artifact.ts';
import { contextWith } from '../definitions/tool-context.ts';

const MIB = 1024 * 1024;
const NAME = 'results/search/1';

/** The context of a tool that sees one artifact, whose bytes come in blocks. */
function contextOf(content: Buffer, mimeType: string, abortSignal?: AbortSignal): Context {
  const artifacts: Partial<ContextArtifacts> = {
    open: async (name, { start = 0, end = content.length } = {}) =>
      name.endsWith('1')
        ? { version: 0, mimeType, size: content.length, bytes: blocksOf(content.subarray(start, end), MIB) }
        : undefined,
  };
  return contextWith({ artifacts: artifacts as ContextArtifacts, ...(abortSignal ? { abortSignal } : {}) });
}

async function* blocksOf(content: Buffer, size: number): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

const openText = (text: string, mimeType = 'text/plain', signal?: AbortSignal) =>
  SpooledArtifact.open(contextOf(Buffer.from(text), mimeType, signal), NAME);

describe('queries of a large result', () => {
  test('read lines as they are, wherever their bytes are cut [spool.query]', async () => {
    const text = fc.array(fc.constantFrom('a', 'é', '😀', '\n', '\r\n', '\u2028', 'b'.repeat(5_000)), {
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 9_000 }), async (signs, size) => {
        const given = signs.join('');
        const lines: string[] = [];
        for await (const some of linesOf(blocksOf(Buffer.from(given), size))) {
          for (const { number, text } of some) lines[number - 1] = (lines[number - 1] ?? '') + text;
        }
        const expected = given.split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect(lines).toEqual(expected.map((line) => line.replace(/\r$/, '')));
      }),
    );
  });

  test('answer at most 12,000 characters, and say that there is more [spool.query]', async () => {
    const artifact = await openText(`${'x'.repeat(3 * MIB)}\n${'y\n'.repeat(100_000)}`);
    for (const query of [
      artifact.head(1),
      artifact.tail(1_000),
      artifact.lines(1, 2),
      artifact.lines(2, 90_000),
      artifact.slice(0, 2 * MIB),
    ]) {
      const { text, truncated } = await query;
      expect(text.length).toBeLessThanOrEqual(12_000);
      expect(truncated).toBe(true);
    }
    const { matches, truncated } = await artifact.grep('.', { limit: 200, context: 10 });
    expect(JSON.stringify(matches).length).toBeLessThan(20_000);
    expect(truncated).toBe(true);
  });

  test('cut no character in two [spool.query]', async () => {
    const artifact = await openText('a😀é'.repeat(20_000));
    const { bytes } = artifact;
    for (let at = 0; at < 8; at += 1) {
      for (const { text } of [
        await artifact.slice(at, at + 9),
        await artifact.slice(bytes - 9 - at, bytes - at),
      ]) {
        expect(text).not.toContain('�');
        expect(text.isWellFormed()).toBe(true);
      }
    }
    expect((await artifact.tail(1)).text).toMatch(/^(?:a?😀é|é)(?:a😀é)+$/);
  });

  test('search on from where they stopped [spool.query]', async () => {
    const artifact = await openText(Array.from({ length: 300 }, (_, n) => `row ${n}`).join('\n'));
    const first = await artifact.grep('row', { limit: 200 });
    const second = await artifact.grep('row', { limit: 200, from: (first.searchedTo ?? 0) + 1 });
    const found = [...first.matches, ...second.matches].map(({ line }) => line);
    expect(found).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
    expect(second.truncated).toBeUndefined();
  });

  test('take linear time for every pattern [spool.query]', async () => {
    const artifact = await openText(`${'a'.repeat(MIB)}!`);
    const began = performance.now();
    expect((await artifact.grep('(a+)+b')).matches).toEqual([]);
    expect(performance.now() - began).toBeLessThan(20_000);
    for (const pattern of ['(?=a)', String.raw`(a)\1`, '(', 'a'.repeat(1_001)]) {
      await expect(artifact.grep(pattern)).rejects.toMatchObject({
        code: 'HOLDFAST_INVALID_QUERY',
        retryable: false,
      });
    }
  });

  /** Turns of the event loop in which others can do something, while a query is answered. */
  async function turnsBeside(query: Promise<unknown>): Promise<number> {
    let turns = 0;
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    query.then(end, end);
    while (!isOver) {
      await setImmediate();
      turns += 1;
    }
    return turns;
  }

  const ORDERLESS = Array.from({ length: 65 }, (_, n) => {
    let seed = n + 1;
    return Array.from({ length: 4_000 }, () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % 2 === 0 ? 'a' : 'b';
    }).join('');
  });
  const SLOW = '(?:[ab]?){160}[ab]{160}c';

  test('let others go on after each line that takes long, also beside other searches [spool.query]', async () => {
    const artifact = await openText(`c\n${ORDERLESS.join('\n')}`);
    expect(await turnsBeside(artifact.grep(SLOW))).toBeGreaterThan(60);
    const both = [artifact.grep(SLOW), artifact.grep(SLOW)];
    expect(await turnsBeside(Promise.all(both))).toBeGreaterThan(120);
    await expect(artifact.grep('(?:[ab]?){900}[ab]{900}c')).rejects.toThrow('at most 500 steps');
    await expect(artifact.grep('[B-\uffff]'.repeat(50), { ignoreCase: true })).rejects.toThrow(
      'a pattern is',
    );
  });

  test('end when they have searched much, and say where [spool.query]', async () => {
    const artifact = await openText(`${'y'.repeat(3_999)}\n`.repeat(400));
    const { matches, truncated, searchedTo } = await artifact.grep('x{480}');
    expect({ matches, truncated }).toEqual({ matches: [], truncated: true });
    expect(searchedTo).toBeGreaterThan(60);
    expect(searchedTo).toBeLessThan(90);
  });

  test('of JSON let others go on [spool.query]', async () => {
    const artifact = await openText(JSON.stringify({ a: ORDERLESS }), 'application/json');
    const query = artifact.jsonpath(`$.a[?search(@, '${SLOW}')]`);
    expect(await turnsBeside(query)).toBeGreaterThan(60);
    await expect(query).rejects.toMatchObject({
      message: expect.stringContaining('the path takes more than'),
      code: 'HOLDFAST_INVALID_QUERY',
    });
    expect(await artifact.jsonpath('$.a[64]')).toEqual({
      matches: [{ path: "$['a'][64]", value: ORDERLESS[64] }],
    });
    expect(await artifact.schema()).toMatchObject({ properties: { a: { maxItems: 65 } } });
  });

  test('end with their call [spool.query]', async () => {
    const ended = new AbortController();
    const artifact = await openText('row of a long text\n'.repeat(200_000), 'text/plain', ended.signal);
    const search = artifact.grep('(x+x+)+y');
    ended.abort(new Error('cancelled'));
    await expect(search).rejects.toThrow('cancelled');
  });

  test.each(['report.pdf', 'user:results/1', 'Results/1', 'results/none', '\u0000'.repeat(500)])(
    'read no other artifact: %j [spool.query]',
    async (name) => {
      const opened = SpooledArtifact.open(contextOf(Buffer.from('x'), 'text/plain'), name);
      await expect(opened).rejects.toMatchObject({ code: 'HOLDFAST_INVALID_QUERY' });
    },
  );

  test('that need another form are refused [spool.types]', async () => {
    const binary = await SpooledArtifact.open(contextOf(Buffer.from([1, 2, 3]), 'image/png'), NAME);
    await expect(binary.head()).rejects.toThrow(
      'head reads text, and results/search/1 is image/png; use slice',
    );
    expect(await binary.slice(1, 3)).toEqual({ text: 'AgM=', base64: true });
    await expect((await openText('x')).jsonpath('$')).rejects.toThrow('jsonpath reads JSON');
    await expect((await openText('{', 'application/json')).schema()).rejects.toThrow(
      'is not the JSON that its type',
    );
    await expect((await openText(' '.repeat(17 * MIB), 'application/json')).schema()).rejects.toThrow(
      'at most 16777216',
    );
    await expect(
      (await openText('"'.padEnd(20_000, 'x').concat('"'), 'application/json')).jsonpath('$'),
    ).rejects.toThrow('the first match, $, has');
    expect(await (await openText('a;b\n1;2\n', 'text/csv')).schema()).toEqual({
      columns: ['a', 'b'],
      separator: ';',
      firstRows: ['1;2', ''],
    });
  });
});

describe('a tool whose results are spooled', () => {
  const made = (more: object) => () =>
    new FunctionTool({ name: 'search', description: '', execute: () => 1, ...more });

  test.each<[string, object, string]>([
    ['too few bytes', { spool: { over: 10 } }, 'spool.over: expected at least 1024 bytes'],
    ['an unknown option', { spool: { above: 5_000 } }, 'above'],
    ['no type', { spool: { mimeType: 'csv' } }, "spool.mimeType: expected a type such as 'text/csv'"],
    [
      'no class',
      { spool: { artifactConstructor: {} } },
      'expected a class that extends SpooledArtifact, got object',
    ],
    ['a sensitive result', { spool: true, sensitive: true }, 'spool: the result is sensitive'],
    ['another value', { spool: 5 }, 'spool: expected true, or an object'],
  ])('has %s refused [spool.definition]', (_, more, problem) => {
    expect(made(more)).toThrow(problem);
  });

  test('has query tools whose own results are told: spooling those would go in a circle [spool.definition]', () => {
    class Circle extends SpooledArtifact {
      static override forgeTools() {
        return [made({ name: 'artifact_all', spool: { artifactConstructor: Circle } })()];
      }
    }
    expect(made({ spool: { artifactConstructor: Circle } })).toThrow(
      'Circle.forgeTools makes this tool to query spooled results, so its own must not be spooled: that is a cycle',
    );
    expect(made({ spool: true })().spool).toEqual({ over: 16_384, mimeType: 'text/plain' });
  });
});
