import type { ApplicationFailure, WorkflowInfo } from '@temporalio/workflow';
import { isObject, shapeOf } from '../../src/contract/check.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import type { ChildStart } from '../../src/protocol/agent-run.ts';
import { childWorkflowIdOf, workflowIdOf } from '../../src/protocol/identity.ts';
import { AGENT_TURN } from '../../src/protocol/names.ts';
import type { AgentTurnStart } from '../../src/protocol/turn.ts';
import { refusal, taken } from '../arguments.ts';
import { checkSize, missingContent } from '../messages/message.ts';

const LONGEST_WORKFLOW_ID = 255;

const INVALID = { of: AGENT_TURN, type: 'InvalidStart' } as const;

/**
 * Start arguments of any client, in any language: refused with the field's name and what to do.
 *
 * @throws ApplicationFailure of type `InvalidStart`
 */
export function checkedStart(given: AgentTurnStart, { workflowId }: WorkflowInfo): AgentTurnStart {
  const start = taken<AgentTurnStart>(WORKFLOW_CHECKS.turnStart, given, INVALID);
  checkSize(start, refuse);
  const { app, userId, sessionId } = start;
  const expected = workflowIdOf(app, userId, sessionId);
  if (workflowId !== expected) {
    throw refuse('workflowId', `app, userId and sessionId belong to the workflow id ${expected}`);
  }
  if (expected.length > LONGEST_WORKFLOW_ID) {
    throw refuse('workflowId', `${expected.length} characters, at most ${LONGEST_WORKFLOW_ID} are allowed`);
  }
  return start;
}

/**
 * The state that the run before has carried over. A start that isn't a continuation has none.
 *
 * @throws ApplicationFailure of type `InvalidStart`
 */
export function checkedCarried<T extends object>(
  carried: T | null | undefined,
  { continuedFromExecutionRunId }: Pick<WorkflowInfo, 'continuedFromExecutionRunId'>,
): T | undefined {
  if (carried === undefined || carried === null) return undefined;
  if (continuedFromExecutionRunId === undefined) {
    throw refuse('arguments', 'the second one is set by a run that goes on in a new one: leave it out');
  }
  if (isObject(carried)) return carried;
  throw refuse('arguments', `expected an object as the second one, got ${shapeOf(carried)}`);
}

/** A start without a message is one that a signal brought a message with. */
export function missingMessage(): ApplicationFailure {
  return missingContent(refuse);
}

export type ChildTurnStart = AgentTurnStart & { child: ChildStart };

/** Null counts as absent, as other languages' serialisers write it. */
export function isChild(given: AgentTurnStart): given is ChildTurnStart {
  return isObject(given) && given.child !== undefined && given.child !== null;
}

/**
 * Start arguments of an agent below another one, as the workflow above it writes them: nobody else may, who could have an agent act
 * in any session, outside of any turn.
 *
 * @throws ApplicationFailure of type `InvalidStart`
 */
export function checkedChild(
  given: ChildTurnStart,
  { workflowId, parent }: Pick<WorkflowInfo, 'workflowId' | 'parent'>,
): ChildTurnStart {
  if (parent === undefined) {
    throw refuse(
      'child',
      'set by the workflow that runs an agent below its own, never by clients: leave it out, and name the agent by `agent`',
    );
  }
  const start = taken<ChildTurnStart>(WORKFLOW_CHECKS.childStart, given, INVALID);
  const { call, plannedBy } = start.child;
  if (call === undefined && plannedBy === undefined) {
    throw refuse('child.plannedBy', 'expected the run that has planned it, or the call whose agent it is');
  }
  checkTree(start, { workflowId, parent });
  return start;
}

/** A tree of one session can't be told to act in another one. */
function checkTree(
  { app, userId, sessionId, child }: ChildTurnStart,
  { workflowId, parent }: Pick<WorkflowInfo, 'workflowId' | 'parent'>,
): void {
  const { rootWorkflowId, runKey } = child;
  const root = workflowIdOf(app, userId, sessionId);
  if (rootWorkflowId !== root) {
    throw refuse('child.rootWorkflowId', `app, userId and sessionId belong to the workflow id ${root}`);
  }
  const expected = childWorkflowIdOf(rootWorkflowId, runKey);
  if (workflowId !== expected)
    throw refuse('workflowId', `this run of an agent below ${rootWorkflowId} is ${expected}`);
  const above = parent?.workflowId;
  if (above !== rootWorkflowId && above?.startsWith(`${rootWorkflowId}/`) !== true) {
    throw refuse('child.rootWorkflowId', `the workflow that runs it is no agent below ${rootWorkflowId}`);
  }
}

function refuse(field: string, problem: string): ApplicationFailure {
  return refusal(INVALID.of, INVALID.type, field, problem);
}
