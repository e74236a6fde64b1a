import type { ApplicationFailure, WorkflowInfo } from '@temporalio/workflow';
import { isObject, shapeOf } from '../../src/contract/check.ts';
import { nameProblem } from '../../src/contract/message-limits.ts';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import type { AgentTurnStart } from '../../src/protocol/turn.ts';
import { refusal } from '../arguments.ts';
import { checkMessage, withoutNulls } from '../messages/message-arguments.ts';

const LONGEST_WORKFLOW_ID = 255;

/**
 * Start arguments of any client, in any language: refused with the field's name and what to do. Runs again on every
 * replay, so a release may tighten it only by `patched()`.
 */
export function checkedStart(given: AgentTurnStart, info: WorkflowInfo): AgentTurnStart {
  if (!isObject(given)) {
    throw invalidStart('arguments', `expected one object, got ${shapeOf(given)}`);
  }
  const start = withoutNulls(given);
  for (const field of ['app', 'userId', 'sessionId'] as const) {
    if (typeof start[field] !== 'string' || start[field] === '') {
      throw invalidStart(field, `expected a non-empty string, got ${shapeOf(start[field])}`);
    }
  }
  checkRetry(start);
  checkOwnCall(start);
  checkRootAgent(start);
  checkMessage(start, invalidStart);
  checkWorkflowId(start, info);
  return start;
}

/**
 * What the run before has carried: a start that isn't a continuation brings none.
 *
 * @throws ApplicationFailure of type `InvalidStart`
 */
export function checkedCarried<T extends object>(
  carried: T | null | undefined,
  { continuedFromExecutionRunId }: Pick<WorkflowInfo, 'continuedFromExecutionRunId'>,
): T | undefined {
  if (carried === undefined || carried === null) return undefined;
  if (continuedFromExecutionRunId === undefined) {
    throw invalidStart('arguments', 'the second one is set by a run that goes on in a new one: leave it out');
  }
  if (isObject(carried)) return carried;
  throw invalidStart('arguments', `expected an object as the second one, got ${shapeOf(carried)}`);
}

/** A start without a message is one that a signal brought a message with. */
export function missingMessage(): ApplicationFailure {
  return invalidStart('message', 'expected text or a Content { role, parts }, got nothing');
}

function checkOwnCall({ ownCall }: AgentTurnStart): void {
  if (ownCall === undefined) return;
  if (isObject(ownCall) && typeof ownCall.tool === 'string' && isObject(ownCall.args)) {
    const { question } = ownCall;
    if (question === undefined || isObject(question)) return;
    throw invalidStart('ownCall.question', `expected an object or nothing, got ${shapeOf(question)}`);
  }
  throw invalidStart('ownCall', `expected { tool, args } or nothing, got ${shapeOf(ownCall)}`);
}

function checkRetry({ retryOf }: AgentTurnStart): void {
  if (retryOf === undefined) return;
  if (
    !isObject(retryOf) ||
    typeof retryOf.invocationId !== 'string' ||
    !Number.isSafeInteger(retryOf.generation)
  ) {
    throw invalidStart(
      'retryOf',
      `expected { invocationId, generation } or nothing, got ${shapeOf(retryOf)}`,
    );
  }
}

function checkRootAgent({ rootAgent }: AgentTurnStart): void {
  if (rootAgent === undefined) return;
  const problem =
    typeof rootAgent === 'string' && rootAgent !== ''
      ? nameProblem(rootAgent)
      : `expected the name of a root agent or nothing, got ${shapeOf(rootAgent)}`;
  if (problem !== undefined) throw invalidStart('rootAgent', problem);
}

function checkWorkflowId(start: AgentTurnStart, info: WorkflowInfo): void {
  const expected = workflowId(start);
  if (info.workflowId !== expected) {
    throw invalidStart('workflowId', `app, userId and sessionId belong to the workflow id ${expected}`);
  }
  if (expected.length > LONGEST_WORKFLOW_ID) {
    throw invalidStart(
      'workflowId',
      `${expected.length} characters, at most ${LONGEST_WORKFLOW_ID} are allowed`,
    );
  }
}

function workflowId({ app, userId, sessionId }: AgentTurnStart): string {
  try {
    return workflowIdOf(app, userId, sessionId);
  } catch (error) {
    if (error instanceof URIError) {
      throw invalidStart('app, userId or sessionId', 'expected well-formed Unicode, got a lone surrogate');
    }
    throw error;
  }
}

function invalidStart(field: string, problem: string): ApplicationFailure {
  return refusal('agentTurn', 'InvalidStart', field, problem);
}
