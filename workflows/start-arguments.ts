import { ApplicationFailure, type WorkflowInfo } from '@temporalio/workflow';
import { workflowIdOf } from '../src/protocol/identity.ts';
import type { AgentTurnStart } from '../src/protocol/turn.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';

const LONGEST_WORKFLOW_ID = 255;

/**
 * Start arguments of any client, in any language: refused with the field's name and what to do. Null counts as absent,
 * as other languages' serialisers write it. Runs again on every replay, so it may be tightened behind `patched()` only.
 */
export function checkedStart(given: AgentTurnStart, info: WorkflowInfo): AgentTurnStart {
  if (typeof given !== 'object' || given === null) {
    throw invalidStart('arguments', `expected one object, got ${shapeOf(given)}`);
  }
  const start = withoutNulls(given);
  checkFields(start);
  checkWorkflowId(start, info);
  return start;
}

function withoutNulls(given: AgentTurnStart): AgentTurnStart {
  const start = dropNulls(given);
  if (isObject(start.runConfig)) start.runConfig = dropNulls(start.runConfig);
  if (isObject(start.message)) {
    const message = dropNulls(start.message);
    if (Array.isArray(message.parts)) {
      message.parts = message.parts.map((part: unknown) =>
        isObject(part) ? dropNulls(part) : part,
      ) as typeof message.parts;
    }
    start.message = message;
  }
  return start;
}

function dropNulls<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null)) as T;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkFields(start: AgentTurnStart): void {
  if (start.v !== undefined && (typeof start.v !== 'number' || start.v > PROTOCOL_VERSION)) {
    throw invalidStart('v', `this worker speaks version ${PROTOCOL_VERSION}; deploy a newer worker`);
  }
  for (const field of ['app', 'userId', 'sessionId'] as const) {
    if (typeof start[field] !== 'string' || start[field] === '') {
      throw invalidStart(field, `expected a non-empty string, got ${shapeOf(start[field])}`);
    }
  }
  for (const field of ['agent', 'messageId'] as const) {
    const given = start[field];
    if (given !== undefined && (typeof given !== 'string' || given === '')) {
      throw invalidStart(field, `expected a non-empty string or nothing, got ${shapeOf(given)}`);
    }
  }
  checkMessage(start.message);
  checkRecord('stateDelta', start.stateDelta);
  checkRecord('runConfig', start.runConfig);
  const maxLlmCalls = start.runConfig?.maxLlmCalls;
  if (maxLlmCalls !== undefined && !Number.isSafeInteger(maxLlmCalls)) {
    throw invalidStart('runConfig.maxLlmCalls', `expected a whole number, got ${shapeOf(maxLlmCalls)}`);
  }
  const streamingMode = start.runConfig?.streamingMode;
  if (streamingMode !== undefined && streamingMode !== 'none' && streamingMode !== 'sse') {
    throw invalidStart('runConfig.streamingMode', "expected 'none', 'sse' or nothing");
  }
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

function checkMessage(message: AgentTurnStart['message']): void {
  if (typeof message === 'string') {
    if (message.trim() === '') throw invalidStart('message', 'expected text, got an empty string');
    return;
  }
  if (typeof message !== 'object' || message === null) {
    throw invalidStart('message', `expected text or a Content { role, parts }, got ${shapeOf(message)}`);
  }
  if (!Array.isArray(message.parts) || message.parts.length === 0) {
    throw invalidStart('message.parts', `expected at least one part, got ${shapeOf(message.parts)}`);
  }
  message.parts.forEach((part: unknown, index) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part) || Object.keys(part).length === 0) {
      throw invalidStart(
        `message.parts[${index}]`,
        `expected a part with at least one field, got ${shapeOf(part)}`,
      );
    }
  });
  if (message.role !== undefined && message.role !== 'user') {
    throw invalidStart('message.role', "expected 'user' or nothing");
  }
  if (
    message.parts.some((part) => part?.functionCall !== undefined || part?.functionResponse !== undefined)
  ) {
    throw invalidStart(
      'message.parts',
      'a message that starts a turn carries no function calls and no responses',
    );
  }
}

function checkRecord(field: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidStart(field, `expected an object or nothing, got ${shapeOf(value)}`);
  }
}

function shapeOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value === '') return 'an empty string';
  return typeof value;
}

function invalidStart(field: string, problem: string): ApplicationFailure {
  const failure = ApplicationFailure.nonRetryable(`agentTurn: ${field}: ${problem}`, 'InvalidStart', {
    field,
  });
  failure.stack = '';
  return failure;
}
