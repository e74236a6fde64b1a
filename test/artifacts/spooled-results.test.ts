import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { InMemoryArtifactService } from '../../src/artifacts/in-memory-artifact-service.ts';
import {
  call,
  createTestEnvironment,
  type GeminiReplyLike,
  type TestEnvironment,
  text,
} from '../../src/testing/index.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { Media } from '../../src/tools/media.ts';
import { SpooledArtifact } from '../../src/tools/spooled/spooled-artifact.ts';

const ROWS = 4_000;
const rows = Array.from({ length: ROWS }, (_, n) => ({ id: `FH-${n}`, total: n % 100, note: 'größer' }));
const csv = `id;total\n${rows.map(({ id, total }) => `${id};${total}`).join('\n')}\n`;
const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, n) => (n * 7) % 256));

class Orders extends SpooledArtifact {
  async sum(): Promise<number> {
    const { matches } = await this.jsonpath('$[:50].total');
    return matches.reduce<number>((sum, match) => sum + (match as { value: number }).value, 0);
  }

  static override forgeTools() {
    const sum = tool({
      name: 'artifact_sum',
      description: 'Adds the totals of spooled orders.',
      parameters: z.object({ artifact: z.string() }),
      execute: async ({ artifact }, context) => ((await Orders.open(context, artifact)) as Orders).sum(),
    });
    return [...SpooledArtifact.forgeTools(), sum];
  }
}

let listed = 0;
const list = tool({
  name: 'list_orders',
  description: 'Lists orders.',
  parameters: z.object({ few: z.boolean().optional() }),
  spool: { over: 4_096, artifactConstructor: Orders },
  execute: ({ few }) => {
    listed += 1;
    return few ? rows.slice(0, 2) : rows;
  },
});
const exported = tool({
  name: 'export_orders',
  description: 'Exports orders.',
  spool: { mimeType: 'text/csv' },
  execute: () => csv,
});
const scan = tool({ name: 'scan', description: 'Scans.', spool: true, execute: () => bytes });
const draw = tool({
  name: 'draw',
  description: 'Draws.',
  spool: true,
  execute: () => [
    new Media({ mimeType: 'image/png', data: bytes, name: 'large.png' }),
    new Media({ mimeType: 'image/png', data: bytes.subarray(0, 10), name: 'small.png' }),
  ],
});

const agent = new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [list, exported, scan, draw] });
class Full extends InMemoryArtifactService {
  override async saveArtifact(): Promise<number> {
    throw new Error('no space left');
  }
}
const careful = new LlmAgent({ name: 'careful', model: 'gemini-2.5-flash', tools: [list] });

let env: TestEnvironment;
beforeAll(async () => {
  env = await createTestEnvironment({
    apps: [
      new App({ name: 'shop', rootAgent: agent }),
      new App({
        name: 'full',
        rootAgent: new LlmAgent({ name: 'full', model: 'gemini-2.5-flash', tools: [list] }),
        durable: { artifactService: new Full() },
      }),
      new App({ name: 'careful', rootAgent: careful, durable: { markUntrusted: true } }),
    ],
  });
});
afterAll(() => env.close());

const offered = (request: { body: unknown }) =>
  (request.body as { tools?: { functionDeclarations: { name: string }[] }[] }).tools?.flatMap(
    ({ functionDeclarations }) => functionDeclarations.map(({ name }) => name),
  );
/** Replies in order; a function gets the name of the artifact that was spooled last. */
function script(steps: readonly (GeminiReplyLike | ((artifact: string) => GeminiReplyLike))[]) {
  let n = 0;
  let artifact = '';
  env.gemini.reset((_request, { functionResponses }) => {
    for (const { response } of functionResponses.toReversed()) {
      if (typeof response?.artifact === 'string') ({ artifact } = response as { artifact: string });
    }
    const step = steps[n] ?? text('more');
    n += 1;
    return typeof step === 'function' ? step(artifact) : step;
  });
}

describe('a large result', () => {
  test('is an artifact, of which the model gets a handle, and queries for that turn [spool.handle] [spool.tools]', async () => {
    script([
      call('list_orders', {}),
      (artifact) => [
        call('artifact_head', { artifact, lines: 3 }),
        call('artifact_tail', { artifact, lines: 2 }),
        call('artifact_lines', { artifact, from: 7, to: 7 }),
        call('artifact_grep', { artifact, pattern: 'fh-1[0-9]"', ignoreCase: true, limit: 3, context: 1 }),
        call('artifact_jsonpath', { artifact, path: '$[?@.total == 99].id' }),
        call('artifact_schema', { artifact }),
        call('artifact_sum', { artifact }),
      ],
      text('done'),
      text('later'),
    ]);
    const turn = await env.run('list them');
    const [spooled, ...queries] = turn.calls.map(({ response }) => response);
    expect(spooled).toMatchObject({
      artifact: expect.stringMatching(/^results\/list_orders\/[0-9a-f]{16}$/),
      version: 0,
      mimeType: 'application/json',
      bytes: Buffer.byteLength(JSON.stringify(rows, null, 1)),
      lines: ROWS * 5 + 2,
      preview: expect.stringContaining('FH-0'),
    });
    expect(JSON.stringify(spooled).length).toBeLessThan(2_000);
    expect(queries).toEqual([
      { text: '[\n {\n  "id": "FH-0",', truncated: true },
      { text: ' }\n]', truncated: true },
      { text: ' {', truncated: true },
      {
        matches: expect.arrayContaining([
          { line: 53, text: '  "id": "FH-10",' },
          { line: 54, text: '  "total": 10,', context: true },
        ]),
        truncated: true,
        searchedTo: expect.any(Number),
      },
      { matches: expect.arrayContaining([{ path: "$[99]['id']", value: 'FH-99' }]) },
      expect.objectContaining({ type: 'array', maxItems: ROWS }),
      { result: 1_225 },
    ]);
    const { userId, sessionId } = turn;
    await env.run({ userId, sessionId, message: 'and now?' });
    const tools = env.gemini.requests.map(offered);
    const own = ['list_orders', 'export_orders', 'scan', 'draw'];
    const queriesOffered = ['head', 'tail', 'lines', 'slice', 'grep', 'jsonpath', 'schema', 'sum'].map(
      (name) => `artifact_${name}`,
    );
    expect(tools).toEqual([own, [...own, ...queriesOffered], [...own, ...queriesOffered], own]);
    expect(
      turn.events
        .map(({ event }) => event.actions?.artifactDelta)
        .filter((delta) => delta && Object.keys(delta).length),
    ).toEqual([{ [String(spooled?.artifact)]: 0 }]);
  });

  test('that is small is told as it is [spool.handle]', async () => {
    env.gemini.reset([call('list_orders', { few: true }), text('done')]);
    const turn = await env.run('few');
    expect(turn.calls[0]?.response).toEqual({ result: rows.slice(0, 2) });
  });

  test('may be CSV, bytes, or media [spool.types]', async () => {
    env.gemini.reset([call('export_orders', {}), call('scan', {}), call('draw', {}), text('done')]);
    const turn = await env.run('all');
    const [sheet, scanned, drawn] = turn.calls.map(
      ({ response }) => response as Record<string, { artifact: string }[]>,
    );
    expect(sheet).toMatchObject({ mimeType: 'text/csv', bytes: Buffer.byteLength(csv), lines: ROWS + 1 });
    expect(scanned?.artifacts).toEqual([
      {
        artifact: expect.stringMatching(/^results\/scan\//),
        version: 0,
        mimeType: 'application/octet-stream',
        bytes: bytes.length,
      },
    ]);
    expect(drawn?.artifacts).toMatchObject([{ mimeType: 'image/png', bytes: bytes.length }]);
    const { app, userId, sessionId } = turn;
    const names = { app, userId, sessionId };
    const kept = await env.client.artifacts.list(names);
    expect(kept.artifacts).toHaveLength(3);
    const file = await env.client.artifacts.get({
      ...names,
      name: String(scanned?.artifacts?.[0]?.artifact),
    });
    const read: Uint8Array[] = [];
    for await (const block of file.bytes) read.push(block);
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
    const sent = turn.events
      .flatMap(({ event }) => event.content?.parts ?? [])
      .filter(({ inlineData }) => inlineData);
    expect(sent.map(({ inlineData }) => inlineData?.data)).toEqual([
      bytes.subarray(0, 10).toString('base64'),
    ]);
  });

  test('that can’t be kept is an error, and its tool has run once [spool.faults]', async () => {
    listed = 0;
    env.gemini.reset([call('list_orders', {}), text('done')]);
    const turn = await env.run({ app: 'full', message: 'list' });
    expect(turn.calls[0]?.response).toEqual({
      error: expect.stringMatching(
        /^Error in tool 'list_orders': its result can't be kept as an artifact: .*no space left.*; it has run$/,
      ),
    });
    expect(listed).toBe(1);
  });
});

test('results of untrusted tools reach a model in their envelope, and are stored as they are [trust.envelope]', async () => {
  env.gemini.reset([call('list_orders', { few: true }), text('done')]);
  const turn = await env.run({ app: 'careful', message: 'few' });
  expect(turn.calls[0]?.response).toEqual({ result: rows.slice(0, 2) });
  const body = JSON.stringify(env.gemini.requests.at(-1)?.body);
  expect(body).toContain('"untrusted_data":{"result":[{"id":"FH-0"');
});
