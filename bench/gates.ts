import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { LlmAgent } from '../src/agents/llm-agent.ts';
import { App } from '../src/app/app.ts';
import { workflowIdOf } from '../src/protocol/identity.ts';
import type { TurnStatus } from '../src/protocol/turn.ts';
import { tool } from '../src/tools/function-tool.ts';
import type { BareTurn } from './bare-workflows.ts';
import { FakeLlm, type TurnShape } from './fake-llm.ts';
import { BARE_QUEUE, openSetting } from './setting.ts';
import { median, quantile, table } from './statistics.ts';
import { waitingTurns } from './waiting-turns.ts';

/**
 * From the signal that approves a call until its tool begins, against a bare workflow that waits for a signal and makes one call;
 * that of `bare+write` does one insert into the same store first. Then turns that wait, in a worker of their own: what they hold of
 * its memory, cached and evicted, and how long it takes to answer all of them.
 */
const KINDS = ['bare', 'bare+write', 'holdfast'] as const;
type Kind = (typeof KINDS)[number];

/** Ratio to bare+write: the write that records the decision with the start of the call is the promise itself. */
const REACH = 1.4;

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '60' }, turns: { type: 'string', default: '1000' } },
});
const rounds = Number(options.rounds);
const shape: TurnShape = { calls: 1, parallel: false, resultBytes: 512 };

let begin: () => void = () => undefined;
const agent = new LlmAgent({
  name: 'gated',
  model: new FakeLlm(),
  tools: [
    tool({
      name: 'work',
      description: 'waits for a person',
      parameters: {
        type: 'object',
        properties: { index: { type: 'integer' }, bytes: { type: 'integer' } },
        required: ['index', 'bytes'],
      },
      requireConfirmation: true,
      execute: () => {
        begin();
        return {};
      },
    }),
  ],
});
const setting = await openSetting({
  apps: [new App({ name: 'gates', rootAgent: agent })],
  onBareBegin: () => begin(),
});
try {
  const times: Record<Kind, number[]> = { bare: [], 'bare+write': [], holdfast: [] };
  const warmUp = 5;
  for (let round = 0; round < rounds + warmUp; round++) {
    for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
      const took = await (kind === 'holdfast' ? approved() : given(kind));
      if (round >= warmUp) times[kind].push(took);
    }
  }
  const ratio = (to: Kind) =>
    median(times.holdfast.map((ms, round) => ms / (times[to][round] ?? Number.NaN)));
  const rows = KINDS.map((kind) => [
    kind,
    quantile(times[kind], 0.5).toFixed(1),
    quantile(times[kind], 0.95).toFixed(1),
    kind === 'holdfast' ? '' : ratio(kind).toFixed(2),
  ]);
  console.log(table([['signal to start of the tool', 'p50 ms', 'p95 ms', 'ours / it'], ...rows]));
  const measured = ratio('bare+write');
  const kept = measured <= REACH ? 'reached' : 'missed';
  console.log(`ours / bare+write: allowed ${REACH}, measured ${measured.toFixed(2)}: ${kept}`);
} finally {
  await setting.close();
}
await waitingTurns(Number(options.turns));

/** Milliseconds from the approval until the tool begins. */
async function approved(): Promise<number> {
  const names = { app: 'gates', userId: 'u', sessionId: randomUUID() };
  const turn = await setting.client.sendMessage({ ...names, message: JSON.stringify(shape) });
  const { app, userId, sessionId } = names;
  const handle = setting.temporal.workflow.getHandle(workflowIdOf(app, userId, sessionId));
  await until(async () => (await handle.query<TurnStatus>('status')).waiting.length === 1);
  const took = await untilBegun(() => handle.signal('confirm', { confirmed: true }));
  await turn.result();
  return took;
}

async function given(kind: 'bare' | 'bare+write'): Promise<number> {
  const turn: BareTurn = { ...shape, writes: kind === 'bare+write' ? 1 : 0 };
  const workflowId = `gates/u/${randomUUID()}`;
  const handle = await setting.temporal.workflow.start('waitingTurn', {
    workflowId,
    taskQueue: BARE_QUEUE,
    args: [turn],
  });
  await until(() => handle.query<boolean>('waits'));
  const took = await untilBegun(() => handle.signal('give'));
  await handle.result();
  return took;
}

async function untilBegun(signal: () => Promise<void>): Promise<number> {
  const begun = Promise.withResolvers<number>();
  begin = () => begun.resolve(performance.now());
  const from = performance.now();
  await signal();
  return (await begun.promise) - from;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()));
}
