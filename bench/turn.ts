import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { BareTurn } from './bare-workflows.ts';
import type { TurnShape } from './fake-llm.ts';
import { BARE_QUEUE, openSetting, type Setting } from './setting.ts';
import { median, quantile, table } from './statistics.ts';

/**
 * A turn against two bare workflows on the same server, in one run: `bare` has the same activities, empty; in
 * `bare+write` each does one insert into the same store. Ratios are medians of pairs that ran one after another.
 */
const KINDS = ['bare', 'bare+write', 'holdfast'] as const;
type Kind = (typeof KINDS)[number];

interface Sample {
  latencies: Record<Kind, number[]>;
  elapsed: Record<Kind, number[]>;
}

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, quick: { type: 'boolean', default: false } },
});
const rounds = options.quick ? 3 : Number(options.rounds);
/** Limits of a turn's cost beside its own work: the figures of the last columns are ratios. */
const reached: string[][] = [['', 'allowed', 'measured', '']];
const reach = (what: string, allowed: number, measured: number, atLeast = false) => {
  const kept = atLeast ? measured >= allowed : measured <= allowed;
  reached.push([
    what,
    `${atLeast ? '>=' : '<='} ${allowed}`,
    measured.toFixed(2),
    kept ? 'reached' : 'missed',
  ]);
};

const setting = await openSetting();
try {
  const shapes = (parallel: boolean) =>
    [1, 10, 50, 100].map((calls) => ({ calls, parallel, resultBytes: 512 }));
  for (const shape of shapes(false).slice(0, 2)) await sampleOf(setting, shape, 1, 2);
  await report('one at a time, calls one after another', shapes(false), 1);
  await report('one at a time, all calls in one step', shapes(true), 1);
  await report('20 at once, calls one after another', shapes(false).slice(0, options.quick ? 2 : 4), 20);
  await reportHistories();
  console.log(`\nreach\n${table(reached)}`);
} finally {
  await setting.close();
}

async function report(title: string, shapes: TurnShape[], atOnce: number): Promise<void> {
  const rows = [
    [
      'calls',
      ...KINDS.flatMap((kind) => [`${kind} p50`, 'p99']),
      'ours/bare',
      'ours/write',
      'turns/s ours/write',
    ],
  ];
  const medians: number[] = [];
  for (const shape of shapes) {
    const { latencies, elapsed } = await sampleOf(
      setting,
      shape,
      atOnce,
      atOnce === 1 ? rounds : shape.calls === 100 ? 2 : Math.min(rounds, 4),
    );
    const ratio = (to: Kind) =>
      median(elapsed.holdfast.map((ms, pair) => ms / (elapsed[to][pair] ?? Number.NaN)));
    medians.push(median(elapsed.holdfast));
    const parallel = shape.parallel ? ', in one step' : '';
    if (atOnce === 1)
      reach(`latency / bare+write, ${shape.calls} calls${parallel}`, 1.15, ratio('bare+write'));
    else
      reach(
        `turns per second / bare+write, ${shape.calls} calls, 20 at once`,
        0.85,
        1 / ratio('bare+write'),
        true,
      );
    rows.push([
      `${shape.calls}`,
      ...KINDS.flatMap((kind) =>
        [quantile(latencies[kind], 0.5), quantile(latencies[kind], 0.99)].map((ms) => ms.toFixed(0)),
      ),
      ratio('bare').toFixed(2),
      ratio('bare+write').toFixed(2),
      (1 / ratio('bare+write')).toFixed(2),
    ]);
  }
  console.log(`\n${title} (latency in ms)\n${table(rows)}`);
  if (atOnce === 1)
    reach(`100 calls / 50 calls, ${title.split(', ')[1]}`, 2.1, (medians[3] ?? 0) / (medians[2] ?? 1));
}

async function sampleOf(within: Setting, shape: TurnShape, atOnce: number, times: number): Promise<Sample> {
  const sample: Sample = {
    latencies: { bare: [], 'bare+write': [], holdfast: [] },
    elapsed: { bare: [], 'bare+write': [], holdfast: [] },
  };
  for (let round = 0; round < times; round++) {
    for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
      const started = performance.now();
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          const begun = performance.now();
          await runOne(within, kind, shape);
          sample.latencies[kind].push(performance.now() - begun);
        }),
      );
      sample.elapsed[kind].push(performance.now() - started);
    }
  }
  return sample;
}

async function runOne({ temporal, client }: Setting, kind: Kind, shape: TurnShape): Promise<string> {
  const id = randomUUID();
  if (kind === 'holdfast') {
    const turn = await client.sendMessage({
      app: 'bench',
      userId: 'u',
      sessionId: id,
      message: JSON.stringify(shape),
    });
    const { status, error } = await turn.result();
    if (status !== 'completed') throw new Error(`turn ${status}: ${error?.message}`);
    return turn.workflowId;
  }
  const turn: BareTurn = { ...shape, writes: kind === 'bare+write' ? 1 : 0 };
  const workflowId = `bench/u/${id}`;
  await temporal.workflow.execute('bareTurn', { workflowId, taskQueue: BARE_QUEUE, args: [turn] });
  return workflowId;
}

async function reportHistories(): Promise<void> {
  const sizes = new Map<number, number>();
  const rows = [['calls, result', 'events bare', 'ours', 'KB bare', 'ours', 'ratio', 'actions bare', 'ours']];
  for (const [calls, resultBytes] of [
    [10, 512],
    [50, 512],
    [100, 512],
    [50, 4 * 1024],
    [50, 64 * 1024],
  ] as const) {
    const [bare, ours] = [
      await historyOf(setting, 'bare', { calls, parallel: false, resultBytes }),
      await historyOf(setting, 'holdfast', { calls, parallel: false, resultBytes }),
    ];
    if (resultBytes === 512) {
      reach(`history bytes / bare, ${calls} calls of 512 B`, 1.6, ours.bytes / bare.bytes);
      reach(`history events more than bare, ${calls} calls`, 3, ours.events - bare.events);
    }
    sizes.set(resultBytes, ours.bytes);
    rows.push([
      `${calls} x ${resultBytes} B`,
      `${bare.events}`,
      `${ours.events}`,
      (bare.bytes / 1024).toFixed(1),
      (ours.bytes / 1024).toFixed(1),
      (ours.bytes / bare.bytes).toFixed(2),
      `${bare.actions}`,
      `${ours.actions}`,
    ]);
  }
  reach('history bytes of 64 KiB results / of 4 KiB', 1.01, (sizes.get(65536) ?? 0) / (sizes.get(4096) ?? 1));
  console.log(`\nhistory\n${table(rows)}`);
}

/** Billable actions of Temporal Cloud that a turn makes: the start, each activity, each upsert of search attributes. */
async function historyOf(within: Setting, kind: Kind, shape: TurnShape) {
  const workflowId = await runOne(within, kind, shape);
  const handle = within.temporal.workflow.getHandle(workflowId);
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
