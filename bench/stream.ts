import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { GoogleGenAI } from '@google/genai';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { buildBundle } from '../scripts/build-bundle.ts';
import { LlmAgent } from '../src/agents/llm-agent.ts';
import { HoldfastClient } from '../src/client/holdfast-client.ts';
import { openStore } from '../src/store/open-store.ts';
import type { SessionNames } from '../src/store/sessions/session-names.ts';
import { acquireFolder, createWorker, openTemporal } from '../worker/index.ts';
import { median, quantile, table } from './statistics.ts';
import type { AnswerShape } from './stream-model.ts';

/**
 * A model's words through the whole path (mock server, `Gemini`, activity, `store.live.tell`, `client.stream`) against the same
 * stream read by `@google/genai` itself, in pairs that ran one after another.
 */
const MODEL = 'gemini-2.5-flash';

/** When words came, milliseconds. */
interface Reading {
  begun: number;
  first: number;
  last: number;
  words: number;
}

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, quick: { type: 'boolean', default: false } },
});
const rounds = options.quick ? 3 : Number(options.rounds);

await buildBundle();
Runtime.install({ logger: new DefaultLogger('ERROR') });
const { model, env } = await startModel();
Object.assign(process.env, env);
const { folder, release } = acquireFolder(mkdtempSync(join(tmpdir(), 'holdfast-bench-')));
const temporal = await openTemporal({ folder, onProgress: (line) => console.error(line) });
const url = process.env.HOLDFAST_STORE;
const store = await openStore({ folder, ...(url ? { url } : {}) });
const connection = await Connection.connect(temporal.connectionOptions);
const native = await NativeConnection.connect(temporal.connectionOptions);
const worker = await createWorker({
  agents: [new LlmAgent({ name: 'bench', model: MODEL })],
  store,
  connection: native,
});
const running = worker.run();
const client = new HoldfastClient({
  temporal: new Client({ connection, namespace: temporal.namespace }),
  store,
});
const direct = new GoogleGenAI({
  apiKey: env.GEMINI_API_KEY,
  httpOptions: { baseUrl: env.GOOGLE_GEMINI_BASE_URL },
});
try {
  const warm = { words: 400, chunkDelayMs: 1 };
  await readDirectly(warm);
  await readFollowed(warm, 1);
  const paced = { words: 1_200, chunkDelayMs: 5 };
  await comparePaths([
    ['4 words every 5 ms', paced],
    ['as fast as it comes', { words: 8_000, chunkDelayMs: 0 }],
  ]);
  await compareFollowers(paced, [1, 100, 1_000]);
} finally {
  worker.shutdown();
  await running;
  await store.close();
  await native.close();
  await connection.close();
  await temporal.stop?.();
  release();
  rmSync(folder, { recursive: true, force: true });
  model.disconnect();
}

async function comparePaths(shapes: readonly (readonly [name: string, shape: AnswerShape])[]): Promise<void> {
  const rows = [
    ['model', 'words/s direct', 'followed', 'ratio', 'first word direct', 'followed', 'more, ms'],
  ];
  for (const [name, shape] of shapes) {
    const pairs: { alone: Reading; followed: Reading }[] = [];
    for (let round = 0; round < rounds; round++) {
      const alone = await readDirectly(shape);
      const [followed] = await readFollowed(shape, 1);
      if (followed !== undefined) pairs.push({ alone, followed });
    }
    const of = (figure: (pair: (typeof pairs)[number]) => number) => median(pairs.map(figure));
    rows.push([
      name,
      of(({ alone }) => rateOf(alone)).toFixed(0),
      of(({ followed }) => rateOf(followed)).toFixed(0),
      of(({ alone, followed }) => rateOf(followed) / rateOf(alone)).toFixed(2),
      of(({ alone }) => waitOf(alone)).toFixed(0),
      of(({ followed }) => waitOf(followed)).toFixed(0),
      of(({ alone, followed }) => waitOf(followed) - waitOf(alone)).toFixed(0),
    ]);
  }
  console.log(`\na turn's text, one follower (medians of ${rounds}; reach: ratio >= 0.9)\n${table(rows)}`);
}

async function compareFollowers(shape: AnswerShape, counts: readonly number[]): Promise<void> {
  const rows = [
    ['followers', 'words/s', 'slowest', 'ratio to direct', 'KB each, waiting', 'CPU, % of one core'],
  ];
  for (const count of counts) {
    const ratios: number[] = [];
    const slowest: number[] = [];
    const rates: number[] = [];
    const memories: number[] = [];
    const loads: number[] = [];
    for (let round = 0; round < Math.min(rounds, 5); round++) {
      const alone = rateOf(await readDirectly(shape));
      const cpu = process.cpuUsage();
      const begun = performance.now();
      const readings = await readFollowed(shape, count, (bytes) => memories.push(bytes / count / 1024));
      const { user, system } = process.cpuUsage(cpu);
      loads.push((user + system) / 10 / (performance.now() - begun));
      const each = readings.map(rateOf);
      rates.push(median(each));
      slowest.push(Math.min(...each));
      ratios.push(quantile(each, 0.01) / alone);
    }
    rows.push([
      `${count}`,
      median(rates).toFixed(0),
      median(slowest).toFixed(0),
      median(ratios).toFixed(2),
      count < 100 ? '' : median(memories).toFixed(1),
      median(loads).toFixed(0),
    ]);
  }
  console.log(`\nfollowers of one session in one process\n${table(rows)}`);
}

async function readDirectly(shape: AnswerShape): Promise<Reading> {
  const begun = performance.now();
  let first = 0;
  let said = '';
  const stream = await direct.models.generateContentStream({ model: MODEL, contents: JSON.stringify(shape) });
  for await (const { text = '' } of stream) {
    first ||= performance.now();
    said += text;
  }
  return { begun, first, last: performance.now(), words: wordsIn(said, shape) };
}

/** @param onWaiting told of the bytes that all followers hold before there is anything to follow. */
async function readFollowed(
  shape: AnswerShape,
  count: number,
  onWaiting: (bytes: number) => void = () => undefined,
): Promise<Reading[]> {
  const names: SessionNames = { app: 'bench', userId: 'u', sessionId: randomUUID() };
  const before = heapUsed();
  const following = Array.from({ length: count }, () => readStream(names));
  await new Promise((resolve) => setTimeout(resolve, 100));
  onWaiting(heapUsed() - before);
  const begun = performance.now();
  const runConfig = { streamingMode: 'sse' } as const;
  const turn = await client.sendMessage({ ...names, runConfig, message: JSON.stringify(shape) });
  const read = await Promise.all(following);
  const { status, error } = await turn.result();
  if (status !== 'completed') throw new Error(`turn ${status}: ${error?.message}`);
  return read.map(({ said, ...times }) => ({ ...times, begun, words: wordsIn(said, shape) }));
}

async function readStream(names: SessionNames): Promise<{ said: string; first: number; last: number }> {
  let first = 0;
  let last = 0;
  let said = '';
  for await (const item of client.stream(names)) {
    if (item.type === 'text') {
      last = performance.now();
      first ||= last;
      said += item.text;
    }
    if (item.type === 'event' && item.kind === 'model') break;
  }
  return { said, first, last };
}

function wordsIn(said: string, { words }: AnswerShape): number {
  const count = said.split(' ').length;
  if (count !== words) throw new Error(`${count} of ${words} words have come`);
  return count;
}

function rateOf({ first, last, words }: Reading): number {
  return (words / (last - first)) * 1_000;
}

function waitOf({ begun, first }: Reading): number {
  return first - begun;
}

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

async function startModel(): Promise<{
  model: ChildProcess;
  env: { GOOGLE_GEMINI_BASE_URL: string; GEMINI_API_KEY: string };
}> {
  const started = fork(fileURLToPath(new URL('./stream-model.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [address] = await once(started, 'message');
  return { model: started, env: address };
}
