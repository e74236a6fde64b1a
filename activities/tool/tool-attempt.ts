import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { defined } from '../../src/protocol/json.ts';
import type { CallActions } from '../../src/store/turns/call-store.ts';
import type { BaseTool, RunAsyncToolRequest, ToolChunk } from '../../src/tools/base-tool.ts';
import type { Asked } from '../../src/tools/call-questions.ts';
import { questionsOf } from '../../src/tools/context.ts';
import { isTrustedResult, toFunctionResponse } from '../../src/tools/function-response.ts';
import { mediaOf } from '../../src/tools/media.ts';
import { keptFromRunning } from '../../src/tools/tool-gate.ts';
import type { Attempt } from '../attempt.ts';
import { type Ending, raceEndings } from '../deadline.ts';
import type { JobNotes } from '../jobs/job-notes.ts';
import type { JobEndedFirst, JobOfCall, LeftJob } from '../jobs/job-of-call.ts';
import type { CallReport } from '../telemetry/reports.ts';
import { effectsOf } from './call-context.ts';
import { type CallOutcome, callbackTooLate, errorOutcome, LEAST_CALLBACK_TIME } from './settle-call.ts';
import { MOST_SPOOLED } from './spool-result.ts';
import type { CalledTool, ToolCallbacks } from './tool-callbacks.ts';
import type { ToolCancellation } from './tool-cancellation.ts';
import { toolChanged, toolTimeout } from './tool-failure.ts';

/** The reason of a run's `leftSignal`. Each abort without one would make an error with a stack. */
const LEFT = new DOMException('the run of the tool is over', 'AbortError');

export interface ToolAttempt {
  call: CalledTool;
  callbacks: ToolCallbacks;
  /** Callbacks have been asked before, and aren't asked again. */
  prepared: boolean;
  /** The approved arguments, which callbacks must not change. */
  approvedArgs: Record<string, unknown> | undefined;
  /** The call was asked about when it was planned, where its tool has a gate. */
  hasPassed: boolean;
  current: Attempt;
  /** Fires when the tool has used up its time. */
  timeout: AbortSignal;
  cancellation: ToolCancellation;
  onChunk: ((chunk: ToolChunk) => void) | undefined;
  /** Undefined for a call that can have no job. */
  job: JobOfCall | undefined;
  report: Pick<CallReport, 'running'>;
  /** Opens the job of a tool that is declared as long-running. */
  opensJob(): Promise<JobEndedFirst | undefined>;
}

/** A run without a result: a person must be asked first. */
export interface AskedPerson {
  asked: Asked;
  /** Before-callbacks have had their say, and not asked: the next run goes on from there. */
  prepared: boolean;
  /** The callbacks' actions. The tool's next run writes its own again. */
  stateDelta: Record<string, unknown>;
}

/** The tool has returned, and its job decides the outcome of the call. */
export interface RunOfJob {
  left: Exclude<LeftJob, { kind: 'result' | 'detached' }>;
  actions: CallActions;
}

/**
 * Runs the tool with its callbacks: before-callbacks may answer in its place, after-callbacks may change its response.
 *
 * @throws errors of callbacks and the tool while the tool may run again; once it has run, a callback's failure is the outcome.
 */
export async function attemptTool(attempt: ToolAttempt): Promise<CallOutcome | AskedPerson | RunOfJob> {
  const { call, callbacks, prepared, job } = attempt;
  const { context } = call;
  const nothing = { prepared: false, stateDelta: {} };
  const before = await unlessAsked(attempt, nothing, async () =>
    !prepared && callbacks.has('beforeToolCallback')
      ? await withinCallTime(attempt, 'beforeToolCallback', callbacks.before(call))
      : undefined,
  );
  if ('asked' in before) return before;
  let { value: answer }: { value: Record<string, unknown> | undefined } = before;
  const stateDelta = prepared ? {} : structuredClone(context.actions.stateDelta);
  const so = { prepared: true, stateDelta };
  if (answer === undefined) {
    assertApproved(attempt);
    const kept = await unlessAsked(attempt, so, () => keptByGate(attempt));
    if ('asked' in kept) return kept;
    answer = kept.value;
  }
  let result: ToolResult & Pick<CallOutcome, 'detached'>;
  if (answer === undefined) {
    const ended = await attempt.opensJob();
    if (ended !== undefined) return { left: { kind: 'ended', ...ended }, actions: effectsOf(context) };
    const ran = await unlessAsked(attempt, so, () => runTool(attempt));
    if ('asked' in ran) return ran;
    result = resultOf(ran.value, call.tool);
    const isNothing = ran.value === undefined || ran.value === null;
    const left = await job?.returned(isNothing ? undefined : result.response, () => notesOf(attempt));
    if (left?.kind === 'detached') result.detached = left.detached;
    else if (left !== undefined && left.kind !== 'result') return { left, actions: effectsOf(context) };
  } else {
    result = { response: answer };
    const ended = await job?.end({ response: answer, failed: false });
    if (ended !== undefined) return { left: { kind: 'ended', ...ended }, actions: effectsOf(context) };
  }
  const actions = effectsOf(context);
  if (!callbacks.has('afterToolCallback')) return { ...result, failed: false, actions };
  const detached = result.detached === undefined ? {} : { detached: result.detached };
  const wasCancelled = attempt.current.signal.aborted;
  try {
    const after = callbacks.after(call, result.response);
    const { response, replaced } = await withinCallTime(attempt, 'afterToolCallback', after);
    const sent = replaced ? { response } : { ...result, response };
    return { ...sent, ...detached, failed: false, actions: effectsOf(context) };
  } catch (error) {
    const isAborted = attempt.current.signal.aborted && !wasCancelled;
    if (answer !== undefined || isAborted) throw error;
    return { ...errorOutcome(error), ...detached };
  }
}

/** A run that has asked a person has no other result, also if it returned or threw. */
async function unlessAsked<T>(
  { call, current, timeout }: ToolAttempt,
  so: Omit<AskedPerson, 'asked'>,
  run: () => Promise<T>,
): Promise<{ value: T } | AskedPerson> {
  let ran: { value: T } | undefined;
  try {
    ran = { value: await run() };
  } catch (error) {
    if (questionsOf(call.context).asked === undefined || current.signal.aborted || timeout.aborted)
      throw error;
  }
  const asked = questionsOf(call.context).asked;
  if (asked !== undefined && current.signal.aborted) throw current.aborted();
  return asked === undefined ? (ran as { value: T }) : { asked, ...so };
}

function assertApproved({ call: { args }, approvedArgs }: ToolAttempt): void {
  if (approvedArgs === undefined || canonicalJson(args) === canonicalJson(approvedArgs)) return;
  throw toolChanged('callbacks would run it with other arguments than those approved');
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
    const request: RunAsyncToolRequest = {
      args,
      toolContext: context,
      leftSignal: left.signal,
      ...defined({ onChunk }),
    };
    const work = tool.runAsync(request);
    try {
      return await raceEndings(work, [
        [current.signal, current.aborted],
        [timeout, () => toolTimeout(tool)],
      ]);
    } catch (error) {
      const last = isCancelled(current) ? await cancellation.lastWord(work) : undefined;
      if (last === undefined) throw error;
      return last.value;
    } finally {
      left.abort(LEFT);
    }
  });
}

/** Error of a call that was planned when its tool had no gate, or by a worker that didn't know of it. */
async function keptByGate(attempt: ToolAttempt): Promise<{ error: string } | undefined> {
  const { call, hasPassed } = attempt;
  const { tool, args, context } = call;
  if (hasPassed || tool.gate?.confirmation === undefined) return undefined;
  const kept = keptFromRunning(tool, { args, toolContext: context });
  return await withinCallTime(attempt, 'requireConfirmation', kept);
}

/** @throws CallbackFailed where the call's time is used up before there is an answer. */
function withinCallTime<T>(attempt: ToolAttempt, callback: string, work: Promise<T>): Promise<T> {
  const { call, current, timeout } = attempt;
  const late = (time: number) => () => callbackTooLate(call, callback, time);
  // A cancelled tool has ended by its own means, and nothing else will fire.
  const endings: Ending[] = isCancelled(current)
    ? [[AbortSignal.timeout(LEAST_CALLBACK_TIME), late(LEAST_CALLBACK_TIME)]]
    : [
        [current.signal, current.aborted],
        [timeout, late(call.tool.durable.timeout)],
      ];
  return raceEndings(work, endings);
}

function isCancelled({ signal, isRetried }: Attempt): boolean {
  return signal.aborted && !isRetried();
}

type ToolResult = Pick<CallOutcome, 'response' | 'parts' | 'omitted' | 'trusted'>;

function resultOf(value: unknown, { spool }: BaseTool): ToolResult {
  const media = spool === undefined ? mediaOf(value) : mediaOf(value, MOST_SPOOLED);
  if (media === undefined) {
    return { response: toFunctionResponse(value), ...(isTrustedResult(value) ? { trusted: true } : {}) };
  }
  const { omitted: _, ...sent } = media;
  return spool === undefined ? sent : media;
}

/** Data that the job's hooks can't find out by themselves. */
function notesOf({ call: { args, context }, job }: ToolAttempt): JobNotes {
  const actions = effectsOf(context);
  return { ...job?.notesOf(args), ...(Object.keys(actions).length === 0 ? {} : { actions }) };
}
