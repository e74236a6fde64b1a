import type { BaseTool, ToolChunk } from '../src/tools/base-tool.ts';
import { toFunctionResponse } from '../src/tools/function-response.ts';
import { mediaOf } from '../src/tools/media.ts';
import { InvalidResultError } from '../src/tools/tool-error.ts';
import type { Attempt } from './attempt.ts';
import { effectsOf } from './call-context.ts';
import { type CallOutcome, callbackTooLate, errorOutcome, LEAST_CALLBACK_TIME } from './failed-call.ts';
import { type Ending, whicheverComesFirst } from './race.ts';
import type { CallReport } from './telemetry/call-report.ts';
import type { CalledTool, ToolCallbacks } from './tool-callbacks.ts';
import type { ToolCancellation } from './tool-cancellation.ts';
import { ToolTimeout } from './tool-failure.ts';

/** One attempt of a call. */
export interface ToolAttempt {
  call: CalledTool;
  callbacks: ToolCallbacks;
  current: Attempt;
  /** Fires when the tool has used up its time. */
  timeout: AbortSignal;
  cancellation: ToolCancellation;
  onChunk: ((chunk: ToolChunk) => void) | undefined;
  report: Pick<CallReport, 'running'>;
}

/**
 * Runs the tool, or what its callbacks have in its place, and what they make of its response.
 *
 * @throws what a callback or the tool throws while the tool may run again; once it has run, a failing callback is the outcome.
 */
export async function attemptTool(attempt: ToolAttempt): Promise<CallOutcome> {
  const { call, callbacks } = attempt;
  const { context, tool } = call;
  const answer = callbacks.has('beforeToolCallback')
    ? await untilLate(attempt, 'beforeToolCallback', callbacks.before(call))
    : undefined;
  const result = answer === undefined ? resultOf(tool, await runTool(attempt)) : { response: answer };
  const actions = effectsOf(context);
  if (!callbacks.has('afterToolCallback')) return { ...result, failed: false, actions };
  const wasCancelled = attempt.current.signal.aborted;
  try {
    const after = callbacks.after(call, result.response);
    const { response, replaced } = await untilLate(attempt, 'afterToolCallback', after);
    const sent = replaced ? { response } : { ...result, response };
    return { ...sent, failed: false, actions: effectsOf(context) };
  } catch (error) {
    const isAborted = attempt.current.signal.aborted && !wasCancelled;
    if (answer !== undefined || isAborted) throw error;
    return errorOutcome(error);
  }
}

function runTool({
  call: { tool, args, context },
  current,
  timeout,
  cancellation,
  onChunk,
  report,
}: ToolAttempt): Promise<unknown> {
  return report.running(args, async () => {
    const left = new AbortController();
    const work = tool.runAsync({
      args,
      toolContext: context,
      leftSignal: left.signal,
      ...(onChunk === undefined ? {} : { onChunk }),
    });
    try {
      return await whicheverComesFirst(work, [
        [current.signal, current.aborted],
        [timeout, () => new ToolTimeout(tool)],
      ]);
    } catch (error) {
      const last = isCancelled(current) ? await cancellation.lastWord(work) : undefined;
      if (last === undefined) throw error;
      return last.value;
    } finally {
      left.abort();
    }
  });
}

/** @throws CallbackFailed where the call's time is used up before there is an answer. */
function untilLate<T>(attempt: ToolAttempt, callback: string, work: Promise<T>): Promise<T> {
  const { call, current, timeout } = attempt;
  const late = (time: number) => () => callbackTooLate(call, callback, time);
  // A cancelled tool has ended by its own means, and nothing else will fire.
  const endings: Ending[] = isCancelled(current)
    ? [[AbortSignal.timeout(LEAST_CALLBACK_TIME), late(LEAST_CALLBACK_TIME)]]
    : [
        [current.signal, current.aborted],
        [timeout, late(call.tool.durable.timeout)],
      ];
  return whicheverComesFirst(work, endings);
}

function isCancelled({ signal, movesOn }: Attempt): boolean {
  return signal.aborted && !movesOn();
}

function resultOf(tool: BaseTool, value: unknown): Pick<CallOutcome, 'response' | 'parts'> {
  if (tool.isLongRunning && (value === undefined || value === null)) {
    throw new InvalidResultError(
      `Error in tool '${tool.name}': a long-running tool must return a first result, such as an id to ask by, and this ` +
        'one returned nothing: a result that comes later is not waited for in this release',
    );
  }
  return mediaOf(value) ?? { response: toFunctionResponse(value) };
}
