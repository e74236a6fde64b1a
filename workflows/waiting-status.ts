import { defineSearchAttributeKey } from '@temporalio/common';
import { CancellationScope, condition, upsertSearchAttributes } from '@temporalio/workflow';
import type { GateKind } from '../src/protocol/gate.ts';
import type { RunningCall, TurnState } from '../src/protocol/turn.ts';
import type { PendingRequest } from './request-book.ts';

const STATUS = defineSearchAttributeKey('HoldfastStatus', 'KEYWORD');

const WAITS: readonly [GateKind, TurnState][] = [
  ['confirmation', 'waiting_approval'],
  ['credential', 'waiting_credential'],
  ['input', 'waiting_input'],
];

/** What a turn under way does: it waits for people only where nothing else goes on. */
export function stateOfWork(
  running: readonly RunningCall[],
  pending: readonly Pick<PendingRequest, 'gate'>[],
): TurnState {
  if (running.length > 0) return 'running';
  return WAITS.find(([kind]) => pending.some(({ gate }) => gate.kind === kind))?.[1] ?? 'running';
}

/** Who keeps from run to run how the run is labelled. */
export interface StatusLabel {
  /** What the search attribute says; absent where the server has no such attribute. */
  label?: TurnState;
}

/** Labels the run with what it does, whenever that has changed once all that came at a time is done. */
export async function keepLabelled(kept: StatusLabel, state: () => TurnState): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    for (;;) {
      await condition(() => kept.label !== undefined && kept.label !== state());
      const value = state();
      kept.label = value;
      upsertSearchAttributes([{ key: STATUS, value }]);
    }
  });
}
