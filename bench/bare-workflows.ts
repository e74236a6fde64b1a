import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  proxyActivities,
  scheduleActivity,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

export interface BareTurn {
  /** Tool calls, one after another or all in one step. */
  calls: number;
  parallel: boolean;
  /** Bytes that each tool returns. */
  resultBytes: number;
  /** Inserts of each activity, one after another. */
  writes: number;
  /** Its calls ask no server. */
  local?: boolean;
}

const OPTIONS = { startToCloseTimeout: 60_000, heartbeatTimeout: 10_000 };

/** The same activities as a turn makes, empty: what Temporal alone costs. */
export async function bareTurn(turn: BareTurn): Promise<string> {
  const { bareModel } = proxyActivities<{ bareModel(turn: BareTurn): Promise<string> }>(OPTIONS);
  const steps = turn.parallel ? 1 : turn.calls;
  const callsOfStep = turn.parallel ? turn.calls : 1;
  for (let step = 0; step < steps; step++) {
    await bareModel(turn);
    await Promise.all(
      Array.from({ length: callsOfStep }, () => scheduleActivity<string>('work', [turn], OPTIONS)),
    );
  }
  return await bareModel(turn);
}

/** Waits for a signal, then makes one call. */
export async function waitingTurn(turn: BareTurn): Promise<void> {
  const { bareModel } = proxyActivities<{ bareModel(turn: BareTurn): Promise<string> }>(OPTIONS);
  let waits = false;
  let given = false;
  setHandler(defineQuery<boolean>('waits'), () => waits);
  setHandler(defineSignal('give'), () => {
    given = true;
  });
  await bareModel(turn);
  waits = true;
  await condition(() => given);
  await scheduleActivity<void>('workGiven', [turn], OPTIONS);
}

/** Its calls wait for a decision each, which is checked by an activity that writes. */
export async function decidedTurn(turn: BareTurn): Promise<void> {
  const { bareModel } = proxyActivities<{ bareModel(turn: BareTurn): Promise<string> }>(OPTIONS);
  const decided = new Set<number>();
  setHandler(defineUpdate<boolean, [number]>('decide'), async (call) => {
    await bareModel(turn);
    decided.add(call);
    return true;
  });
  await Promise.all(
    Array.from({ length: turn.calls }, async (_, call) => {
      await condition(() => decided.has(call));
      await scheduleActivity<string>('work', [turn], OPTIONS);
    }),
  );
}

export interface BareFamily {
  /** Input of its activities. */
  turn: BareTurn;
  /** Children of each workflow, all at once. */
  children: number;
  /** Below this one. */
  levels: number;
  /** One more activity for each child that has ended, as a call has whose agent has run. */
  isAnswered: boolean;
}

/** A turn with children, as turns of agents have them: the same workflows and activities, empty. */
export async function bareFamily(family: BareFamily): Promise<void> {
  const { turn, children, levels, isAnswered } = family;
  const { bareModel } = proxyActivities<{ bareModel(turn: BareTurn): Promise<string> }>(OPTIONS);
  await bareModel(turn);
  if (levels === 0) return;
  await Promise.all(
    Array.from({ length: children }, async (_, index) => {
      await executeChild(bareFamily, {
        workflowId: `${workflowInfo().workflowId}/${index}`,
        args: [{ ...family, levels: levels - 1 }],
      });
      if (isAnswered) await scheduleActivity<string>('work', [turn], OPTIONS);
    }),
  );
  await bareModel(turn);
}
