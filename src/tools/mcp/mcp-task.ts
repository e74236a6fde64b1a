import { defined, isRecord } from '../../protocol/json.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { kindOf } from '../../schema/kind-of.ts';
import type { McpAnswer } from './mcp-answer.ts';
import { McpRefused } from './mcp-errors.ts';

/** The extension of MCP 2026-07-28 by which a long call is a task. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** A task as its server tells of it. Fields: those that `Task` of 2025-11-25 and `DetailedTask` of the extension share. */
export interface McpTask {
  taskId: string;
  status: (typeof STATUSES)[number];
  /** For people. */
  message?: string;
  /** Milliseconds until the server wants to be asked again. */
  pollAfter: number;
  /** The result of a completed task. */
  result?: McpAnswer;
  /** The server's words about a failed task. */
  error?: string;
  inputRequests?: Readonly<Record<string, unknown>>;
}

const STATUSES = ['working', 'input_required', 'completed', 'failed', 'cancelled'] as const;

/** Characters of a server's name of a task. */
const LONGEST_ID = 1_000;
/** Characters of a server's words about a task. */
const LONGEST_MESSAGE = 500;
/** Milliseconds between two looks at a task. */
const POLL_AFTER = { least: 500, most: 60_000, untold: 5_000 };

/**
 * A task from a server's answer.
 *
 * @throws McpRefused for an answer that is none.
 */
export function taskOf(value: unknown): McpTask {
  if (!isRecord(value))
    throw new McpRefused(`the MCP server's answer about a task: expected an object, got ${kindOf(value)}`);
  const { statusMessage, result, inputRequests, error } = value;
  const status = STATUSES.find((each) => each === value.status);
  if (status === undefined) {
    const said =
      typeof value.status === 'string' ? JSON.stringify(value.status.slice(0, 100)) : kindOf(value.status);
    throw new McpRefused(
      `the MCP server's answer about a task: status: MCP has no ${said}, only ${STATUSES.join(', ')}`,
    );
  }
  const message = isRecord(error) ? error.message : undefined;
  return {
    taskId: idOf(value.taskId),
    status,
    pollAfter: pollAfterOf(value.pollIntervalMs ?? value.pollInterval),
    ...defined({
      message: wordsIn(statusMessage),
      error: wordsIn(message),
      result: isRecord(result) ? (result as McpAnswer) : undefined,
      inputRequests: isRecord(inputRequests) ? inputRequests : undefined,
    }),
  };
}

export function isOver({ status }: McpTask): boolean {
  return status !== 'working' && status !== 'input_required';
}

function idOf(taskId: unknown): string {
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > LONGEST_ID) {
    throw new McpRefused(
      `the MCP server's answer about a task: taskId: expected text of 1 to ${LONGEST_ID} characters`,
    );
  }
  return taskId;
}

function pollAfterOf(time: unknown): number {
  if (typeof time !== 'number' || !Number.isFinite(time)) return POLL_AFTER.untold;
  return Math.min(Math.max(Math.round(time), POLL_AFTER.least), POLL_AFTER.most);
}

function wordsIn(text: unknown): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  return visibleLines(text.slice(0, LONGEST_MESSAGE).toWellFormed());
}

const BEGUN = 'holdfast/task';

/**
 * A message of a server in the form in which its package takes it: an answer to a call that is a task is none to it. The task then
 * stands in the answer's `_meta`, and `isError` keeps the package from looking for structured content.
 */
export function withTaskInMeta<Message>(message: Message): Message {
  const { result } = message as { result?: unknown };
  if (!isRecord(result)) return message;
  const task = result.resultType === 'task' ? result : result.content === undefined ? result.task : undefined;
  if (!isRecord(task)) return message;
  return {
    ...message,
    result: { resultType: 'complete', content: [], isError: true, _meta: { [BEGUN]: task } },
  };
}

/** The task that a call has become, from the answer that {@link withTaskInMeta} has made. */
export function begunTask(answer: object): McpTask | undefined {
  const { _meta: meta } = answer as { _meta?: unknown };
  const task = isRecord(meta) ? meta[BEGUN] : undefined;
  return task === undefined ? undefined : taskOf(task);
}
