import { defineSearchAttributeKey } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { searchAttributeValues } from '../../src/protocol/search-attributes.ts';
import type { FirstStep } from '../../src/protocol/step.ts';
import type { AgentTurnStart } from '../../src/protocol/turn.ts';
import type { InvocationState } from './turn-state.ts';
import type { StatusLabel } from './waiting-status.ts';

/**
 * Labels a run with what its client left out. An attribute that the server doesn't know would park the run for ever, so
 * the workflow asks for them only once an activity has said that they are registered.
 */
export function labelRun(
  start: AgentTurnStart,
  state: InvocationState,
  { searchAttributes }: FirstStep,
  kept: StatusLabel,
): void {
  if (!searchAttributes) return;
  kept.label ??= 'running';
  const present = workflowInfo().typedSearchAttributes;
  const missing = Object.entries(searchAttributeValues({ ...start, agent: state.agent }))
    .map(([name, value]) => ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value }))
    .filter(({ key }) => present.get(key) === undefined);
  if (missing.length > 0) upsertSearchAttributes(missing);
}
