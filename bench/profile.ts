import type { Profiler } from 'node:inspector';
import { parseArgs } from 'node:util';
import { type BusySample, busySamples } from './causes.ts';
import { diskSyncOf } from './disk-sync.ts';
import { inspectThreads } from './inspected-threads.ts';
import { median, table } from './statistics.ts';
import { type Cpu, cpuOf, sumOf } from './thread-cpu.ts';
import { KINDS, type Kind, openTurnBench, ratioOf, shapeOf } from './turn-kinds.ts';

/**
 * Divides a turn's CPU time: by thread, and by cause in the main thread and in the workflow thread. Other work on the machine does
 * not change it much, so two trees can be compared that ran at different times.
 */
const { values: options } = parseArgs({
  options: {
    /** `10` is 10 calls one after another, `50p` 50 calls of one step. */
    shapes: { type: 'string', default: '10,50p' },
    kinds: { type: 'string', default: KINDS.join(',') },
    rounds: { type: 'string', default: '9' },
    'at-once': { type: 'string', default: '1' },
    /** Lists so many functions of each thread, those with most samples. */
    functions: { type: 'string', default: '0' },
  },
});
const rounds = Number(options.rounds);
const atOnce = Number(options['at-once']);
const functions = Number(options.functions);
const shapes = options.shapes.split(',');
/** Microseconds between samples. */
const INTERVAL = 400;

/** Threads whose time is divided by causes. */
const PROFILED = ['main', 'workflow'] as const;

interface Column {
  kind: Kind;
  shape: string;
  /** CPU milliseconds of a turn without the profiler. */
  cpu: Cpu;
  samples: Record<(typeof PROFILED)[number], BusySample[]>;
}

const bench = await openTurnBench(options.kinds);
try {
  const diskSync = await diskSyncOf(bench.setting.store);
  if (diskSync !== undefined) console.log(`the disk's sync of one insert: ${diskSync.toFixed(2)} ms`);
  for (const shape of shapes) await bench.sample(shapeOf(shape), 2, atOnce);
  const { places } = bench.meter;
  const rows = [['calls', 'kind', ...places, 'sum', '/ b+w', 'wall', '/ b+w']];
  const columns: Column[] = [];
  for (const shape of shapes) {
    const sample = await bench.sample(shapeOf(shape), rounds, atOnce);
    for (const [kind, all] of sample) {
      const cpu = cpuOf((place) => all.reduce((sum, round) => sum + round.cpu[place], 0) / all.length);
      rows.push([
        ...[shape, kind],
        ...[...places.map((place) => cpu[place]), sumOf(cpu)].map((ms) => ms.toFixed(1)),
        ratioOf(sample, kind, 'bare+write', (round) => sumOf(round.cpu)).toFixed(2),
        median(all.flatMap((round) => round.latencies)).toFixed(0),
        ratioOf(sample, kind, 'bare+write', (round) => round.elapsed).toFixed(2),
      ]);
      columns.push({ kind, shape, cpu, samples: { main: [], workflow: [] } });
    }
  }
  console.log(`\nCPU ms of a turn by thread, ${rounds} rounds of ${atOnce} at once\n${table(rows)}`);
  await inspectThreads(async (threads) => {
    const profiled = threads.filter(({ url }) => !url.includes('pglite-thread'));
    for (const { ask } of profiled) {
      await ask('Profiler.enable');
      await ask('Profiler.setSamplingInterval', { interval: INTERVAL });
    }
    for (const { kind, shape, samples } of columns) {
      for (const { ask } of profiled) await ask('Profiler.start');
      for (let round = 0; round < rounds; round++) {
        await Promise.all(Array.from({ length: atOnce }, () => bench.run(kind, shapeOf(shape))));
      }
      for (const { url, ask } of profiled) {
        const { profile } = await ask<{ profile: Profiler.Profile }>('Profiler.stop');
        const place = url === '' ? 'main' : 'workflow';
        samples[place] = samples[place].concat(busySamples(profile));
      }
    }
  });
  for (const place of PROFILED) {
    console.log(`\nCPU ms of a turn by cause, thread: ${place}\n${table(divided(columns, place, 'cause'))}`);
    if (functions > 0) console.log(`\n${table(divided(columns, place, 'frame').slice(0, functions + 1))}`);
  }
} finally {
  await bench.setting.close();
}

/** A thread's CPU time, divided as its samples are: the profiler's own cost is left out, as if it were the same everywhere. */
function divided(
  columns: readonly Column[],
  place: (typeof PROFILED)[number],
  by: keyof BusySample,
): string[][] {
  const parts = columns.map(({ samples, cpu }) => {
    const all = samples[place];
    const ms = new Map<string, number>();
    for (const { [by]: key } of all) ms.set(key, (ms.get(key) ?? 0) + cpu[place] / all.length);
    return ms;
  });
  const keys = [...new Set(parts.flatMap((part) => [...part.keys()]))];
  const most = (key: string) => Math.max(...parts.map((part) => part.get(key) ?? 0));
  const figures = (key: string) => parts.map((part) => (part.get(key) ?? 0).toFixed(1));
  return [
    [by, ...columns.map(({ shape, kind }) => `${shape} ${kind}`)],
    ...keys.toSorted((a, b) => most(b) - most(a)).map((key) => [key, ...figures(key)]),
  ];
}
