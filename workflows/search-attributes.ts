import { defineSearchAttributeKey } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { StepOutcome } from '../src/protocol/step.ts';
import type { AgentTurnStart } from '../src/protocol/turn.ts';
import type { TurnState } from './turn-state.ts';

/** A keyword over this many characters doesn't fit every visibility store. */
const LONGEST_KEYWORD = 255;

const AGENT = defineSearchAttributeKey('HoldfastAgent', 'KEYWORD');
const APP = defineSearchAttributeKey('HoldfastApp', 'KEYWORD');
const USER = defineSearchAttributeKey('HoldfastUser', 'KEYWORD');
const SESSION = defineSearchAttributeKey('HoldfastSession', 'KEYWORD');
const STATUS = defineSearchAttributeKey('HoldfastStatus', 'KEYWORD');

/**
 * Labels a run that a plain client started. An attribute that the server doesn't know would park the run for ever, so
 * the workflow asks for them only once an activity has said that they are registered.
 */
export function labelRun(start: AgentTurnStart, state: TurnState, outcome: StepOutcome): void {
  if (!outcome.searchAttributes || workflowInfo().typedSearchAttributes.get(APP) !== undefined) return;
  upsertSearchAttributes([
    { key: APP, value: start.app.slice(0, LONGEST_KEYWORD) },
    { key: USER, value: start.userId.slice(0, LONGEST_KEYWORD) },
    { key: SESSION, value: start.sessionId.slice(0, LONGEST_KEYWORD) },
    { key: AGENT, value: (state.agent ?? '').slice(0, LONGEST_KEYWORD) },
    { key: STATUS, value: 'running' },
  ]);
}
