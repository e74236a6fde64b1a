import type { ServerContext } from '@modelcontextprotocol/server';
import type { McpCaller } from './mcp-caller.ts';
import { type TurnOfCall, taskOf } from './turn-answer.ts';
import type { TurnCalls } from './turn-calls.ts';
import type { TurnStanding } from './turn-standing.ts';

/** Milliseconds for which `tasks/get` waits for news of the turn. */
const LOOK = 1_000;

/** Methods of the extension, by their names. */
export type TaskMethods = Record<
  'tasks/get' | 'tasks/update' | 'tasks/cancel',
  (taskId: string, context: ServerContext) => Promise<Record<string, unknown>>
>;

/** A task is a turn, by its name. */
export function taskMethods(calls: TurnCalls, { api, app, userId }: McpCaller): TaskMethods {
  return {
    async 'tasks/get'(taskId, { mcpReq }) {
      const { turn, handle } = await calls.named(taskId);
      const standing = await calls.standing(turn, handle, { time: LOOK, signal: mcpReq.signal });
      return detailOf(turn, standing, calls);
    },
    async 'tasks/update'(taskId, { mcpReq }) {
      const { handle } = await calls.named(taskId);
      // The package takes the answers out of the parameters.
      const { refused } = await calls.answer(handle, mcpReq.inputResponses ?? {});
      if (refused[0] !== undefined) throw refused[0];
      return { resultType: 'complete' };
    },
    async 'tasks/cancel'(taskId) {
      const { turn, handle } = await calls.named(taskId);
      const { invocationId } = handle;
      await api.interrupt(
        { app, userId, sessionId: turn.sessionId },
        { invocationId, reason: 'its task was cancelled' },
      );
      return { resultType: 'complete' };
    },
  };
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
