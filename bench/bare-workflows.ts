import {
  condition,
  defineQuery,
  defineSignal,
  proxyActivities,
  scheduleActivity,
  setHandler,
} from '@temporalio/workflow';

export interface BareTurn {
  /** Tool calls, one after another or all in one step. */
  calls: number;
  parallel: boolean;
  /** Bytes that each tool returns. */
  resultBytes: number;
  write: boolean;
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
