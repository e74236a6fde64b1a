import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { BaseAgent } from '../src/agents/base-agent.ts';
import { App } from '../src/app/app.ts';
import type { BareFamily } from './bare-workflows.ts';
import { allAtOnce, callingAtOnce, callingDown } from './family-agents.ts';
import { BARE_QUEUE, openSetting, type Setting } from './setting.ts';
import { median, quantile, table } from './statistics.ts';

/**
 * Turns with children against bare workflows with as many children, which make the same activities, empty; in `bare+write` each
 * does one insert into the same store. Ratios are medians of pairs that ran one after another; CPU is that of this process: workers,
 * client and store, without the server.
 */
const KINDS = ['bare', 'bare+write', 'holdfast'] as const;
type Kind = (typeof KINDS)[number];

/** Ratio to bare+write, for a turn whose costs are those of its many children. */
const REACH = 1.3;

interface Shape {
  title: string;
  root: BaseAgent;
  family: Pick<BareFamily, 'children' | 'levels' | 'isAnswered'>;
  rounds: number;
  /** Its limit. */
  reach?: number;
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    quick: { type: 'boolean', default: false },
    /** Part of the titles of the measurements. */
    only: { type: 'string', default: '' },
  },
});
const rounds = options.quick ? 3 : Number(options.rounds);

const tools = (children: number, levels = 1) => ({ children, levels, isAnswered: true });
const ALL: readonly Shape[] = [
  { title: '1 agent tool', root: callingAtOnce('one', 1), family: tools(1), rounds: rounds * 2 },
  {
    title: '50 agent tools at once',
    root: callingAtOnce('fifty', 50),
    family: tools(50),
    rounds,
    reach: REACH,
  },
  { title: 'agent tools 5 deep', root: callingDown('deep', 5), family: tools(1, 5), rounds },
  {
    title: '50 agents in parallel',
    root: allAtOnce('parallel', 50),
    family: { children: 50, levels: 1, isAnswered: false },
    rounds,
    reach: REACH,
  },
];
const SHAPES = ALL.filter(({ title }) => title.includes(options.only));

const setting = await openSetting({
  apps: SHAPES.map(({ root }) => new App({ name: root.name, rootAgent: root })),
});
try {
  await reportTimes();
  await reportHistories();
} finally {
  await setting.close();
}

async function reportTimes(): Promise<void> {
  const rows = [
    [
      'turn',
      ...KINDS.flatMap((kind) => [`${kind} p50`, 'p99']),
      'ours/bare',
      'ours/write',
      'CPU write',
      'CPU ours',
    ],
  ];
  const reached: string[][] = [['', 'allowed', 'measured', '']];
  for (const shape of SHAPES) {
    for (const kind of KINDS) await runOne(setting, kind, shape);
    const times: Record<Kind, number[]> = { bare: [], 'bare+write': [], holdfast: [] };
    const spent: Record<Kind, number[]> = { bare: [], 'bare+write': [], holdfast: [] };
    for (let round = 0; round < shape.rounds; round++) {
      for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
        const [started, usedBefore] = [performance.now(), process.cpuUsage()];
        await runOne(setting, kind, shape);
        times[kind].push(performance.now() - started);
        const { user, system } = process.cpuUsage(usedBefore);
        spent[kind].push((user + system) / 1_000);
      }
    }
    const ratio = (to: Kind) =>
      median(times.holdfast.map((ms, pair) => ms / (times[to][pair] ?? Number.NaN)));
    rows.push([
      shape.title,
      ...KINDS.flatMap((kind) =>
        [quantile(times[kind], 0.5), quantile(times[kind], 0.99)].map((ms) => ms.toFixed(0)),
      ),
      ratio('bare').toFixed(2),
      ratio('bare+write').toFixed(2),
      median(spent['bare+write']).toFixed(0),
      median(spent.holdfast).toFixed(0),
    ]);
    if (shape.reach === undefined) continue;
    const measured = ratio('bare+write');
    const kept = measured <= shape.reach ? 'reached' : 'missed';
    reached.push([`time / bare+write, ${shape.title}`, `<= ${shape.reach}`, measured.toFixed(2), kept]);
  }
  console.log(`one turn at a time (ms)\n${table(rows)}`);
  console.log(`\nreach\n${table(reached)}`);
}

/** @returns the id of its workflow. */
async function runOne({ temporal, client }: Setting, kind: Kind, { root, family }: Shape): Promise<string> {
  const id = randomUUID();
  if (kind === 'holdfast') {
    const turn = await client.sendMessage({ app: root.name, userId: 'u', sessionId: id, message: 'go' });
    const { status, error } = await turn.result();
    if (status !== 'completed') throw new Error(`turn ${status}: ${error?.message}`);
    return turn.workflowId;
  }
  const turn = { calls: 0, parallel: false, resultBytes: 4, writes: kind === 'bare+write' ? 1 : 0 };
  const workflowId = `agents/u/${id}`;
  const args: [BareFamily] = [{ ...family, turn }];
  await temporal.workflow.execute('bareFamily', { workflowId, taskQueue: BARE_QUEUE, args });
  return workflowId;
}

async function reportHistories(): Promise<void> {
  const rows = [
    [
      'history',
      'events bare',
      'ours',
      'KB bare',
      'ours',
      'ratio',
      'activities bare',
      'ours',
      'actions bare',
      'ours',
    ],
  ];
  for (const shape of SHAPES) {
    const [bare, ours] = [
      await historiesOf(await runOne(setting, 'bare', shape)),
      await historiesOf(await runOne(setting, 'holdfast', shape)),
    ];
    for (const part of ['parent', 'child'] as const) {
      rows.push([
        `${shape.title}: ${part}`,
        `${bare[part].events}`,
        `${ours[part].events}`,
        (bare[part].bytes / 1024).toFixed(1),
        (ours[part].bytes / 1024).toFixed(1),
        (ours[part].bytes / bare[part].bytes).toFixed(2),
        `${bare[part].activities}`,
        `${ours[part].activities}`,
        `${bare[part].actions}`,
        `${ours[part].actions}`,
      ]);
    }
  }
  console.log(`\n${table(rows)}`);
}

/** Histories of a workflow, and of the first of its children. */
async function historiesOf(workflowId: string) {
  const parent = await historyOf(workflowId);
  const { child } = parent;
  if (child === undefined) throw new Error(`${workflowId} has had no children`);
  return { parent, child: await historyOf(child) };
}

/** Billable actions of Temporal Cloud: the start, each activity, each child, each upsert of search attributes. */
async function historyOf(workflowId: string) {
  const handle = setting.temporal.workflow.getHandle(workflowId);
  const { events } = await handle.fetchHistory();
  const { historySize = 0 } = await handle.describe();
  const all = events ?? [];
  const activities = all.filter((event) => event.activityTaskScheduledEventAttributes).length;
  const children = all.flatMap(
    (event) => event.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId ?? [],
  );
  const others = all.filter(
    (event) =>
      event.workflowExecutionStartedEventAttributes ??
      event.upsertWorkflowSearchAttributesEventAttributes ??
      event.signalExternalWorkflowExecutionInitiatedEventAttributes,
  ).length;
  return {
    events: all.length,
    bytes: historySize,
    activities,
    actions: activities + children.length + others,
    child: children[0],
  };
}
