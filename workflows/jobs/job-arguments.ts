import type { ApplicationFailure, WorkflowInfo } from '@temporalio/workflow';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import type { ToolJobStart } from '../../src/protocol/job.ts';
import { isTooDeep, tooDeepText } from '../../src/protocol/message-limits.ts';
import { RESERVED_PREFIX, TOOL_JOB } from '../../src/protocol/names.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { isObject, isPriority, PRIORITY_TEXT, refusal, shapeOf } from '../messages/message-arguments.ts';

const NAMES = [
  'app',
  'userId',
  'sessionId',
  'session',
  'turnWorkflowId',
  'agent',
  'runKey',
  'invocationId',
  'callKey',
  'tool',
] as const;

/** Temporal refuses the activity of a longer one for ever. */
const LONGEST_NAME = 1_000;

/**
 * Start arguments of any client, in any language: refused with the field's name and what to do. Runs again on every replay, so a
 * release may tighten it behind `patched()` only.
 *
 * @throws ApplicationFailure of type `InvalidStart`
 */
export function checkedJobStart(given: ToolJobStart, info: WorkflowInfo): ToolJobStart {
  if (!isObject(given)) throw refuse('arguments', `expected one object, got ${shapeOf(given)}`);
  const start = given;
  if (isTooDeep(start)) throw refuse('arguments', `${tooDeepText()}: send flatter content`);
  if (start.v !== undefined && (typeof start.v !== 'number' || start.v > PROTOCOL_VERSION)) {
    throw refuse('v', `this worker speaks version ${PROTOCOL_VERSION}; deploy a newer worker`);
  }
  for (const name of NAMES) checkName(name, start[name]);
  if (typeof start.callId !== 'string')
    throw refuse('callId', `expected a string, got ${shapeOf(start.callId)}`);
  if (start.tool.startsWith(RESERVED_PREFIX)) throw refuse('tool', `expected a tool's name, not one of ours`);
  if (!isObject(start.args) || !('value' in start.args || 'ref' in start.args)) {
    throw refuse('args', `expected { value } or { ref }, got ${shapeOf(start.args)}`);
  }
  checkJob(start);
  checkTime('schedule.startToClose', start.schedule?.startToClose);
  checkTime('schedule.scheduleToClose', start.schedule?.scheduleToClose);
  checkTime('schedule.heartbeat', start.schedule?.heartbeat);
  const { priority } = start;
  if (priority !== undefined && !isPriority(priority)) throw refuse('priority', PRIORITY_TEXT);
  const expected = jobWorkflowIdOf(start.turnWorkflowId, start.callKey);
  if (info.workflowId !== expected) {
    throw refuse('workflowId', `turnWorkflowId and callKey belong to the workflow id ${expected}`);
  }
  return start;
}

function checkJob({ job }: ToolJobStart): void {
  if (!isObject(job)) throw refuse('job', `expected an object, got ${shapeOf(job)}`);
  checkName('job.jobId', job.jobId);
  if (!Number.isFinite(job.timeLeft))
    throw refuse('job.timeLeft', `expected a number, got ${shapeOf(job.timeLeft)}`);
  checkTime('job.look.startToClose', job.look?.startToClose);
  if (job.look.heartbeat !== undefined) checkTime('job.look.heartbeat', job.look.heartbeat);
}

function checkName(field: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') {
    throw refuse(field, `expected a non-empty string, got ${shapeOf(name)}`);
  }
  if (name.length > LONGEST_NAME) {
    throw refuse(field, `${name.length} characters, at most ${LONGEST_NAME} are allowed`);
  }
}

function checkTime(field: string, time: unknown): void {
  if (typeof time === 'number' && Number.isFinite(time) && time > 0) return;
  throw refuse(field, `expected milliseconds, more than 0, got ${shapeOf(time)}`);
}

function refuse(field: string, problem: string): ApplicationFailure {
  return refusal(TOOL_JOB, 'InvalidStart', field, problem);
}
