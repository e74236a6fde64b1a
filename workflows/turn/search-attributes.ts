import { defineSearchAttributeKey } from '@temporalio/common';
import { CancellationScope, condition, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES, searchAttributeValues } from '../../src/protocol/names.ts';
import type { FirstStep } from '../../src/protocol/step.ts';
import type { AgentTurnStart, TurnState } from '../../src/protocol/turn.ts';
import type { ChainState, InvocationState } from './turn-state.ts';

/**
 * Labels a run with what its client left out. An attribute that the server doesn't know would park the run for ever, so
 * the workflow asks for them only once an activity has said that they are registered.
 */
export function labelRun(
  start: AgentTurnStart,
  state: InvocationState,
  { searchAttributes }: FirstStep,
  kept: Pick<ChainState, 'label'>,
): void {
  if (!searchAttributes) return;
  kept.label ??= 'running';
  const present = workflowInfo().typedSearchAttributes;
  const missing = Object.entries(searchAttributeValues({ ...start, agent: state.agent }))
    .map(([name, value]) => ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value }))
    .filter(({ key }) => present.get(key) === undefined);
  if (missing.length > 0) upsertSearchAttributes(missing);
}

/** Labels the run with its state, whenever the state has changed after all events of a task. */
export async function keepLabelled(kept: Pick<ChainState, 'label'>, state: () => TurnState): Promise<void> {
  const key = defineSearchAttributeKey('HoldfastStatus', 'KEYWORD');
  await CancellationScope.nonCancellable(async () => {
    for (;;) {
      await condition(() => kept.label !== undefined && kept.label !== state());
      const value = state();
      kept.label = value;
      upsertSearchAttributes([{ key, value }]);
    }
  });
}

/**
 * Search attributes for a workflow that this one starts: those that this run has. An attribute that the server doesn't know would
 * keep the workflow from its start.
 *
 * @param agent the agent that acts there. Defaults to this run's.
 */
export function labelsOfChild(agent?: string) {
  const { typedSearchAttributes } = workflowInfo();
  return SEARCH_ATTRIBUTES.flatMap((name) => {
    const key = defineSearchAttributeKey(name, 'KEYWORD');
    const own = typedSearchAttributes.get(key);
    if (own === undefined) return [];
    const value = name === 'HoldfastStatus' ? 'running' : (name === 'HoldfastAgent' && agent) || own;
    return [{ key, value }];
  });
}
