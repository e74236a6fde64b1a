import type { Server } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { McpCaller } from './mcp-caller.ts';
import { type TurnOfCall, turnOfId } from './turn-answer.ts';
import type { TurnCalls } from './turn-calls.ts';
import type { TurnStanding } from './turn-standing.ts';
import { taskOf } from './turn-task.ts';

/** Milliseconds for which `tasks/get` waits for news of the turn. */
const LOOK = 1_000;

const TASK = z.looseObject({ taskId: z.string() });
/** Answers the methods of the extension: a task is a turn, by its name. */
export function serveTasks(
  server: Server,
  calls: TurnCalls,
  caller: McpCaller,
  refuse: (text: string) => Error,
): void {
  const find = async (taskId: string) => {
    const turn = turnOfId(taskId);
    const handle = turn && (await calls.find(turn));
    if (turn === undefined || handle === undefined) throw refuse(`there is no task ${taskId.slice(0, 200)}`);
    return { turn, handle };
  };
  server.setRequestHandler('tasks/get', { params: TASK }, async ({ taskId }, { mcpReq }) => {
    const { turn, handle } = await find(taskId);
    const standing = await calls.standing(turn, handle, { time: LOOK, signal: mcpReq.signal });
    return detailOf(turn, standing, calls);
  });
  server.setRequestHandler('tasks/update', { params: TASK }, async ({ taskId }, { mcpReq }) => {
    const { handle } = await find(taskId);
    // The package takes the answers out of the parameters.
    await calls.answer(handle, mcpReq.inputResponses ?? {});
    return { resultType: 'complete' };
  });
  server.setRequestHandler('tasks/cancel', { params: TASK }, async ({ taskId }) => {
    const { turn, handle } = await find(taskId);
    const { api, app, userId } = caller;
    const { invocationId } = handle;
    await api.interrupt(
      { app, userId, sessionId: turn.sessionId },
      { invocationId, reason: 'its task was cancelled' },
    );
    return { resultType: 'complete' };
  });
}

function detailOf(turn: TurnOfCall, standing: TurnStanding, calls: TurnCalls) {
  const as = (status: string, more: object = {}) => ({
    ...taskOf(turn, standing, status),
    ...more,
    resultType: 'complete',
  });
  if (standing.is === 'working') return as('working');
  if (standing.is === 'ended') {
    if (standing.result.status === 'interrupted') return as('cancelled');
    return as('completed', { result: { ...calls.result(turn, standing), resultType: 'complete' } });
  }
  const inputRequests = calls.questions(standing.requests);
  if (inputRequests !== undefined) return as('input_required', { inputRequests });
  return as('working', { statusMessage: 'it waits for a person' });
}
