import type { ApplicationFailure, WorkflowInfo } from '@temporalio/workflow';
import { isObject, shapeOf } from '../../src/contract/check.ts';
import type { ChildStart } from '../../src/protocol/agent-run.ts';
import { childWorkflowIdOf, workflowIdOf } from '../../src/protocol/identity.ts';
import { AGENT_TURN } from '../../src/protocol/names.ts';
import type { AgentTurnStart } from '../../src/protocol/turn.ts';
import { refusal } from '../arguments.ts';

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
  start: ChildTurnStart,
  { workflowId, parent }: Pick<WorkflowInfo, 'workflowId' | 'parent'>,
): ChildTurnStart {
  if (parent === undefined) {
    throw refuse(
      'child',
      'set by the workflow that runs an agent below its own, never by clients: leave it out, and name the agent by `agent`',
    );
  }
  const { child } = start;
  for (const field of ['app', 'userId', 'sessionId'] as const) checkText(field, start[field]);
  if (!isObject(child)) throw refuse('child', `expected an object, got ${shapeOf(child)}`);
  checkText('child.rootWorkflowId', child.rootWorkflowId);
  checkText('child.runKey', child.runKey);
  checkText('child.invocationId', child.invocationId);
  checkAgent(child);
  checkPlace(child);
  checkOrigin(child);
  checkIds(start, { workflowId, parent });
  return start;
}

function checkAgent({ agent, path }: ChildStart): void {
  if (!isObject(agent)) throw refuse('child.agent', `expected an object, got ${shapeOf(agent)}`);
  checkText('child.agent.name', agent.name);
  if (agent.root !== undefined) checkText('child.agent.root', agent.root);
  if (agent.within !== undefined && !Array.isArray(agent.within)) {
    throw refuse('child.agent.within', `expected an array or nothing, got ${shapeOf(agent.within)}`);
  }
  if (!Array.isArray(path) || path.length === 0) {
    throw refuse('child.path', `expected at least one name, got ${shapeOf(path)}`);
  }
  for (const [index, name] of path.entries()) checkText(`child.path[${index}]`, name);
}

function checkPlace({ branch, fence, seq }: ChildStart): void {
  if (branch !== undefined) checkText('child.branch', branch);
  if (!isObject(fence)) throw refuse('child.fence', `expected an object, got ${shapeOf(fence)}`);
  checkNumber('child.fence.startedAt', fence.startedAt);
  checkNumber('child.fence.invocation', fence.invocation);
  checkNumber('child.seq', seq);
}

/** Planned by an agent, whose session it shares, or called by one. */
function checkOrigin({ call, plannedBy, session }: ChildStart): void {
  if (call === undefined) {
    checkText('child.plannedBy', plannedBy);
    if (session !== undefined) checkText('child.session', session);
    return;
  }
  if (!isObject(call)) throw refuse('child.call', `expected an object, got ${shapeOf(call)}`);
  for (const field of ['session', 'runKey', 'callKey', 'callId', 'tool'] as const) {
    checkText(`child.call.${field}`, call[field]);
  }
  if (!isObject(call.args)) throw refuse('child.call.args', `expected an object, got ${shapeOf(call.args)}`);
}

/** A tree of one session can't be told to act in another one. */
function checkIds(
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

function checkText(field: string, value: unknown): void {
  if (typeof value === 'string' && value !== '') return;
  throw refuse(field, `expected a non-empty string, got ${shapeOf(value)}`);
}

function checkNumber(field: string, value: unknown): void {
  if (typeof value === 'number' && Number.isFinite(value)) return;
  throw refuse(field, `expected a number, got ${shapeOf(value)}`);
}

function refuse(field: string, problem: string): ApplicationFailure {
  return refusal(AGENT_TURN, 'InvalidStart', field, problem);
}
