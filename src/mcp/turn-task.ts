import type { CallToolResult, Server } from '@modelcontextprotocol/server';
import { isRecord } from '../protocol/json.ts';
import { type TurnOfCall, turnIdOf } from './turn-answer.ts';
import type { TurnStanding } from './turn-standing.ts';

/** The extension of MCP 2026-07-28 by which a long call is a task. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Milliseconds that a call may take before it becomes a task. */
export const TASK_AFTER = 750;
/** Milliseconds after which a client should ask again. */
const POLL_INTERVAL = 2_000;

/** The answer to a call that goes on as a task. */
export type CallBecomesTask = CallToolResult & ReturnType<typeof taskOf> & { resultType: 'task' };

/** Whether a client takes a task in place of a result. */
export function takesTasks(server: Server): boolean {
  const { extensions } = server.getClientCapabilities() ?? {};
  return isRecord(extensions) && isRecord(extensions[TASKS_EXTENSION]);
}

/** The answer to a call that goes on as a task. */
export function taskOfCall(turn: TurnOfCall, standing: TurnStanding): CallBecomesTask {
  return { ...taskOf(turn, standing, 'working'), resultType: 'task' } as CallBecomesTask;
}

/** Fields: `Task` of the extension. */
export function taskOf(turn: TurnOfCall, { events }: TurnStanding, status: string) {
  const { timestamp: begun = Date.now() } = events[0] ?? {};
  const { timestamp: changed = begun } = events.at(-1) ?? {};
  return {
    ...{ taskId: turnIdOf(turn), status, ttlMs: null, pollIntervalMs: POLL_INTERVAL },
    ...{ createdAt: new Date(begun).toISOString(), lastUpdatedAt: new Date(changed).toISOString() },
  };
}
