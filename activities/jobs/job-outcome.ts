import type { JobOutcome } from '../../src/store/store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { toFunctionResponse } from '../../src/tools/function-response.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';
import { afterTime } from '../after-time.ts';
import type { Attempt } from '../attempt.ts';
import { whicheverComesFirst } from '../race.ts';
import { effectsOf } from '../tool/call-context.ts';
import {
  type CallOutcome,
  callbackTooLate,
  errorOutcome,
  LEAST_CALLBACK_TIME,
  outcomeOfFailure,
} from '../tool/failed-call.ts';
import type { CalledTool, ToolCallbacks } from '../tool/tool-callbacks.ts';
import { recordedFailure, storeErrorIn } from '../tool/tool-failure.ts';

/** What a call's job came to, for those who hear of responses. */
export interface HeardOutcome {
  callbacks: ToolCallbacks;
  call: CalledTool;
  outcome: JobOutcome;
  /** What the tool has said first: its schema is that of the outcome. */
  isIntermediate?: true;
  /** Milliseconds that the callbacks may take. */
  time: number;
  current: Attempt;
}

/** What a call is settled with whose outcome is its job's: checked as the tool's own result, and as callbacks have it. */
export async function heardOutcome(heard: HeardOutcome): Promise<CallOutcome> {
  const { callbacks, call, isIntermediate, current } = heard;
  const time = Math.max(heard.time, LEAST_CALLBACK_TIME);
  const { failed } = heard.outcome;
  let { response } = heard.outcome;
  if (!failed && isIntermediate === undefined) {
    try {
      response = await checkedResponse(call.tool, response);
    } catch (error) {
      if (storeErrorIn(error) !== undefined) throw error;
      return await outcomeOfFailure(callbacks, { call, thrown: error, time, current });
    }
  }
  if (failed) {
    const thrown = recordedFailure(textOf(response));
    return await outcomeOfFailure(callbacks, { call, thrown, unanswered: response, time, current });
  }
  const unheard = { response, failed, actions: effectsOf(call.context) };
  if (!callbacks.has('afterToolCallback')) return unheard;
  const late = afterTime(time);
  try {
    const after = await whicheverComesFirst(callbacks.after(call, response), [
      [current.signal, current.aborted],
      [late.signal, () => callbackTooLate(call, 'afterToolCallback', time)],
    ]);
    return { response: after.response, failed, actions: effectsOf(call.context) };
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    return errorOutcome(error);
  } finally {
    late.clear();
  }
}

/** A service's result that is no object has come as `{ result }`, and the tool's schema may be of that. */
async function checkedResponse(
  tool: BaseTool,
  response: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const { result, ...more } = response;
  const isWrapped = Object.hasOwn(response, 'result') && Object.keys(more).length === 0;
  try {
    return toFunctionResponse(await tool.readResult(isWrapped ? result : response));
  } catch (error) {
    if (!isWrapped || !(error instanceof InvalidResultError)) throw error;
    return toFunctionResponse(await tool.readResult(response));
  }
}

function textOf({ error, ...more }: Record<string, unknown>): string {
  if (typeof error === 'string' && Object.keys(more).length === 0) return error;
  return JSON.stringify({ error, ...more });
}
