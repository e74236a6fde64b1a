import { parseArgs } from 'node:util';
import { diskSyncOf } from './disk-sync.ts';
import type { TurnShape } from './fake-llm.ts';
import { median, quantile, table } from './statistics.ts';
import { sumOf } from './thread-cpu.ts';
import { KINDS, type Kind, openTurnBench, type Round, ratioOf, type Sample, shapeOf } from './turn-kinds.ts';

/**
 * Turns against bare workflows on the same server, in one run: latency and CPU of this process and the servers, alone and 20 at
 * once, then histories. Ratios are medians of pairs that ran one after another; other work on the machine moves those of latency
 * more than those of CPU.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    quick: { type: 'boolean', default: false },
    kinds: { type: 'string', default: KINDS.join(',') },
  },
});
const rounds = options.quick ? 3 : Number(options.rounds);
const AT_ONCE = 20;

/** Limits of a turn's cost: the figures of the last columns are ratios, if nothing else is said. */
const reached: string[][] = [['', 'allowed', 'measured', '']];
const reach = (what: string, allowed: number, measured: number, atLeast = false) => {
  if (Number.isNaN(measured)) return;
  const kept = atLeast ? measured >= allowed : measured <= allowed;
  const limit = `${atLeast ? '>=' : '<='} ${allowed}`;
  reached.push([what, limit, measured.toFixed(2), kept ? 'reached' : 'missed']);
};

const elapsedOf = ({ elapsed }: Round) => elapsed;
const cpuOf = ({ cpu }: Round) => sumOf(cpu);
const bench = await openTurnBench(options.kinds);
const ours = bench.kinds.filter((kind) => kind !== 'bare' && kind !== 'bare+write');
try {
  const diskSync = await diskSyncOf(bench.setting.store);
  if (diskSync !== undefined) console.log(`the disk's sync of one insert: ${diskSync.toFixed(2)} ms`);
  for (const name of ['1', '10', '10p']) await bench.sample(shapeOf(name), 2);
  const inARow = await report('one at a time, calls one after another', ['1', '10', '50', '100'], 1);
  const inOneStep = await report('one at a time, all calls in one step', ['1p', '10p', '50p', '100p'], 1);
  const together = await report(`${AT_ONCE} at once, calls one after another`, ['1', '10', '50'], AT_ONCE);
  reachAlone(new Map([...inARow, ...inOneStep]));
  for (const [name, sample] of together) {
    const least = (kind: Kind) => (name === '1' || kind === 'default' ? 0.85 : kind === 'inline' ? 1.1 : 2.2);
    for (const kind of ours) {
      const what = `turns per second / bare+write, ${kind}, ${name} calls, ${AT_ONCE} at once`;
      reach(what, least(kind), 1 / ratioOf(sample, kind, 'bare+write', elapsedOf), true);
    }
  }
  await reportHistories();
  console.log(`\nreach\n${table(reached)}`);
} finally {
  await bench.setting.close();
}

async function report(title: string, names: string[], atOnce: number): Promise<Map<string, Sample>> {
  const samples = new Map<string, Sample>();
  const speed = atOnce > 1 ? ['turns/s', '/ b+w'] : [];
  const rows = [['calls', 'kind', 'p50 ms', 'p99', '/ bare', '/ b+w', ...speed, 'CPU ms', '/ b+w']];
  for (const name of names.slice(0, options.quick && atOnce > 1 ? 2 : names.length)) {
    const times = atOnce === 1 ? rounds : name === '50' ? 2 : Math.min(rounds, 4);
    const sample = await bench.sample(shapeOf(name), times, atOnce);
    samples.set(name, sample);
    for (const [kind, all] of sample) {
      const latencies = all.flatMap((round) => round.latencies);
      const toWrite = ratioOf(sample, kind, 'bare+write', elapsedOf);
      const perSecond = (1000 * atOnce) / median(all.map(elapsedOf));
      rows.push([
        ...[name, kind],
        ...[0.5, 0.99].map((q) => quantile(latencies, q).toFixed(0)),
        ...[ratioOf(sample, kind, 'bare', elapsedOf), toWrite].map((ratio) => ratio.toFixed(2)),
        ...(atOnce > 1 ? [perSecond.toFixed(1), (1 / toWrite).toFixed(2)] : []),
        median(all.map(cpuOf)).toFixed(0),
        ratioOf(sample, kind, 'bare+write', cpuOf).toFixed(2),
      ]);
    }
  }
  console.log(`\n${title}\n${table(rows)}`);
  return samples;
}

function reachAlone(samples: Map<string, Sample>): void {
  const ratio = (name: string, kind: Kind, to: Kind, figure = elapsedOf) =>
    ratioOf(samples.get(name) ?? new Map(), kind, to, figure);
  const latency = (name: string, kind: Kind) => median((samples.get(name)?.get(kind) ?? []).map(elapsedOf));
  for (const name of samples.keys()) {
    const most = name.endsWith('p') ? 1.25 : name === '1' ? 1.2 : 1.15;
    reach(`latency / bare+write, default, ${name} calls`, most, ratio(name, 'default', 'bare+write'));
  }
  reach('CPU / bare+write, default, 10 calls', 1.2, ratio('10', 'default', 'bare+write', cpuOf));
  for (const name of ['10', '50', '100', '50p']) {
    const most = name.endsWith('p') ? 0.5 : 0.9;
    reach(`latency / bare, inline, ${name} calls`, most, ratio(name, 'inline', 'bare'));
  }
  reach('latency / bare, chain, 10 calls', 0.35, ratio('10', 'chain', 'bare'));
  reach('ms of each further step, chain', 4, (latency('100', 'chain') - latency('10', 'chain')) / 90);
  for (const step of ['', 'p']) {
    const grown = latency(`100${step}`, 'default') / latency(`50${step}`, 'default');
    reach(`100${step} calls / 50${step} calls, default`, 2.1, grown);
  }
}

async function reportHistories(): Promise<void> {
  const compared = bench.kinds.filter((kind) => kind !== 'bare+write');
  const rows = [['calls, result', 'kind', 'events', '/ bare', 'KB', '/ bare', 'actions']];
  const bytesOf = new Map<number, number>();
  for (const [calls, resultBytes] of [
    [10, 512],
    [50, 512],
    [100, 512],
    [50, 4 * 1024],
    [50, 64 * 1024],
  ] as const) {
    const shape = { calls, parallel: false, resultBytes };
    const bare = await historyOf('bare', shape);
    for (const kind of compared) {
      const history = kind === 'bare' ? bare : await historyOf(kind, shape);
      const [events, bytes] = [history.events / bare.events, history.bytes / bare.bytes];
      rows.push([
        ...[`${calls} x ${resultBytes} B`, kind, `${history.events}`, events.toFixed(2)],
        ...[(history.bytes / 1024).toFixed(1), bytes.toFixed(2), `${history.actions}`],
      ]);
      if (kind === 'default') bytesOf.set(resultBytes, history.bytes);
      if (kind === 'bare' || calls !== 10) continue;
      const few = { default: 1.3, inline: 1.1, chain: 0.2 }[kind] ?? 1;
      reach(`history bytes / bare, ${kind}, 10 calls of 512 B`, few, bytes);
      reach(`history events / bare, ${kind}, 10 calls`, kind === 'default' ? 1.03 : 0.65, events);
    }
  }
  const grown = (bytesOf.get(65536) ?? Number.NaN) / (bytesOf.get(4096) ?? 1);
  reach('history bytes of 64 KiB results / of 4 KiB', 1.01, grown);
  console.log(`\nhistory\n${table(rows)}`);
}

/** Billable actions of Temporal Cloud that a turn makes: the start, each activity, each upsert of search attributes. */
async function historyOf(kind: Kind, shape: TurnShape) {
  const handle = bench.setting.temporal.workflow.getHandle(await bench.run(kind, shape));
  const { events = [] } = await handle.fetchHistory();
  const { historySize = 0 } = await handle.describe();
  const actions = events?.filter(
    (event) =>
      event.workflowExecutionStartedEventAttributes ??
      event.activityTaskScheduledEventAttributes ??
      event.upsertWorkflowSearchAttributesEventAttributes,
  );
  return { events: events?.length ?? 0, bytes: historySize, actions: actions?.length ?? 0 };
}
