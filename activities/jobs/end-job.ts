import { isAnySensitive, MASK } from '../../src/approvals/sensitive.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import type { JobOutcome, JobRow } from '../../src/contract/jobs.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { jobIdOf } from '../../src/protocol/identity.ts';
import type { EndedDetachedJob, JobTask } from '../../src/protocol/job.ts';
import type {
  SettleStepInput,
  ToolCallInput,
  ToolCallResult,
  UnsettledCall,
} from '../../src/protocol/step.ts';
import type { EndJob } from '../../src/store/jobs/job-store.ts';
import type { CallActions } from '../../src/store/turns/call-store.ts';
import { isDeployedNowhere } from '../agents.ts';
import { type Attempt, retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';
import { callLogger } from '../logging.ts';
import { type CallOutcome, callResult, settleCall } from '../tool/settle-call.ts';
import { argumentsIn } from '../tool/settle-unsettled.ts';
import { spooledOutcome } from '../tool/spool-result.ts';
import { describeFailure, storeErrorIn } from '../tool/tool-failure.ts';
import { assertLeft } from './await-job.ts';
import { JobHookContext } from './job-hook-context.ts';
import {
  hookTime,
  loggerOfJob,
  outcomeOfTimeout,
  outOfTime,
  runCancelHook,
  timeoutError,
} from './job-hooks.ts';
import { outcomeNotesIn } from './job-notes.ts';
import { outcomeByHooks } from './job-outcomes.ts';

type EndOfJob = Extract<JobTask, { do: 'end' }>;

/**
 * The wait for a job is over. The job ends for the wait's reason, unless it has ended before; its tool is told of an end that is
 * not its own; a waiting call gets its outcome. Each of these happens once, in any process.
 */
export async function endJob(
  dependencies: ActivityDependencies,
  input: ToolCallInput,
  task: EndOfJob,
  current: Attempt,
): Promise<ToolCallResult | EndedDetachedJob> {
  const row = await dependencies.store.jobs.find(task.jobId);
  if (row === undefined) return await withoutRow(dependencies, input, task);
  assertLeft(row);
  let hookContext: JobHookContext | undefined;
  try {
    hookContext = await JobHookContext.open(dependencies, input, row, current);
  } catch (error) {
    if (!isDeployedNowhere(error)) throw error;
    loggerOfJob(dependencies, row).warn(`a job ends without its tool: ${error.message}`);
  }
  const job = { dependencies, input, task, row, hookContext, current };
  const ended =
    row.outcome === undefined
      ? (await dependencies.store.jobs.end({ jobId: row.jobId, ...(await endingOf(job)) })).job
      : row;
  if (hookContext !== undefined && (ended.status === 'cancelled' || ended.status === 'timed_out')) {
    const delay = await runCancelHook(dependencies, hookContext, current);
    const text = `cancel of tool '${hookContext.tool.name}' failed`;
    if (delay !== undefined) throw retryLater('HOLDFAST_JOB_HOOK_FAILED', text, { delay });
  }
  if (task.detached) return detachedResult(ended, hookContext);
  return await settle(job, ended.outcome as JobOutcome);
}

/** A job whose wait is over. */
interface JobToEnd {
  dependencies: ActivityDependencies;
  input: ToolCallInput;
  task: EndOfJob;
  row: JobRow;
  /** Absent where no worker has its tool any more. */
  hookContext: JobHookContext | undefined;
  current: Attempt;
}

async function endingOf({
  dependencies,
  task,
  row,
  hookContext,
  current,
}: JobToEnd): Promise<Omit<EndJob, 'jobId'>> {
  const { why, text } = task;
  if (why === 'cancelled') {
    const outcome = { response: { error: text ?? 'cancelled' }, failed: true };
    const reason = text === undefined ? {} : { reason: text };
    return { status: 'cancelled', outcome, by: 'operator', ...reason };
  }
  if (why === 'timeout') {
    const reason = outOfTime(row);
    const outcome =
      hookContext === undefined
        ? timeoutError(row, reason)
        : await outcomeOfTimeout(dependencies, hookContext, reason, current);
    return { status: 'timed_out', outcome, by: 'timeout', reason };
  }
  const reason = 'nothing waits for its job any more, and no outcome of it is known';
  return { status: 'failed', outcome: timeoutError(row, reason), by: 'turn', reason };
}

async function settle(job: JobToEnd, outcome: JobOutcome): Promise<ToolCallResult> {
  const { dependencies, input, row, hookContext } = job;
  const { session, callKey, agent } = input;
  const heard =
    hookContext === undefined
      ? { ...outcome, actions: {} }
      : await spooledOutcome(await outcomeAfterCallbacks(job, hookContext, outcome), {
          tool: hookContext.tool,
          callKey,
          artifacts: hookContext.artifacts,
        });
  const { deployment, telemetry, store } = dependencies;
  const { app, tool } = row;
  const by = settingsOf(deployment, app).markUntrusted ? hookContext?.tool : undefined;
  const settled = await settleCall(store, { session, callKey, tool, by }, heard, {});
  if (settled.first) telemetry.metrics.callFinished({ app, agent, tool }, settled.failed);
  return await callResult(dependencies, input, hookContext?.tool, settled, heard.answersError === true);
}

async function outcomeAfterCallbacks(
  { dependencies: { store }, current }: Pick<JobToEnd, 'dependencies' | 'current'>,
  hookContext: JobHookContext,
  outcome: JobOutcome,
): Promise<CallOutcome> {
  const { tool, callbacks, args, notes, row } = hookContext;
  // A hook may have given the outcome, and its notes, since the context was opened.
  const { actions, ...media } = outcomeNotesIn(await store.turns.readOnce(row), outcome.response);
  await hookContext.openCredentials();
  const context = hookContext.toolContext(current.signal, merged(notes.actions, actions));
  const heard = await outcomeByHooks({
    ...{ callbacks, outcome, call: { tool, args: structuredClone(args), context } },
    time: hookTime(tool),
    current,
  });
  return media.parts === undefined || heard.failed ? heard : { ...heard, ...media };
}

/** For a job whose session was deleted, or that never had one: nothing waits for it. */
async function withoutRow(
  dependencies: ActivityDependencies,
  input: ToolCallInput,
  { detached, jobId }: EndOfJob,
): Promise<ToolCallResult | EndedDetachedJob> {
  const { store } = dependencies;
  const { session, callKey } = input;
  const gist = `job ${jobId} is not in the store: its session was deleted`;
  if (detached) return { v: PROTOCOL_VERSION, status: 'cancelled', gist };
  // The activity's input is a claim: a call that waits for people, or has not begun, has had no job.
  const [{ requests }, known, planned] = await Promise.all([
    store.approvals.findEvidence(session, callKey),
    store.turns.findCall({ session, callKey }),
    store.turns.findPlannedCall({ session, callKey }),
  ]);
  const hasBegun = known !== undefined && (known.settled || known.attempts > 0);
  if (requests.some(({ status }) => status === 'pending') || (planned !== undefined && !hasBegun))
    throw new HoldfastError(
      'HOLDFAST_JOB_LOST',
      'the call has not begun, or waits for people, and has no job',
    );
  const settled = await store.turns.settleCall({
    ...{ session, callKey, response: { error: gist }, failed: true },
    actions: {},
  });
  return await callResult(dependencies, input, undefined, settled, false);
}

function detachedResult(row: JobRow, hookContext: JobHookContext | undefined): EndedDetachedJob {
  const { status, outcome, tool } = row;
  const isHidden = isAnySensitive(hookContext?.tool.durable.sensitive ?? true);
  const carried = isHidden
    ? MASK
    : JSON.stringify(outcome?.response ?? {})
        .slice(0, 60)
        .toWellFormed();
  return { v: PROTOCOL_VERSION, status: status as EndedDetachedJob['status'], gist: `${tool}: ${carried}` };
}

/** The actions of the run, then those of the hook that gave the outcome. */
function merged(run: CallActions | undefined, hook: CallActions | undefined): CallActions {
  const stateDelta = { ...run?.stateDelta, ...hook?.stateDelta };
  return { ...run, ...hook, ...(Object.keys(stateDelta).length === 0 ? {} : { stateDelta }) };
}

type Call = Pick<UnsettledCall, 'callKey' | 'callId'>;

/**
 * Calls whose jobs have ended with their turn, or whose last attempt was lost after the end of their job: the job's service is told
 * that its outcome is not wanted, unless that attempt has done so.
 */
export async function cancelUnwantedJobs(
  dependencies: ActivityDependencies,
  { calls, ...input }: Pick<SettleStepInput, 'session' | 'runKey' | 'agent'> & { calls: readonly Call[] },
  current: Attempt,
): Promise<void> {
  for (const call of calls) {
    // Code that the model wrote has no job.
    if (call.callId !== '') await tell(dependencies, input, call, current);
  }
}

async function tell(
  dependencies: ActivityDependencies,
  { session, runKey, agent }: Pick<SettleStepInput, 'session' | 'runKey' | 'agent'>,
  { callKey, callId }: Call,
  current: Attempt,
): Promise<void> {
  if (session === undefined) return;
  const { store } = dependencies;
  const row = await store.jobs.find(jobIdOf(session, callKey));
  if (row === undefined || (row.status !== 'cancelled' && row.status !== 'timed_out')) return;
  const { app, userId, sessionId } = row;
  const call = { v: PROTOCOL_VERSION, session, runKey, callKey, callId, agent };
  try {
    const planned = await store.turns.callArguments({ session, callKey });
    const value = planned ?? argumentsIn(await eventsOf(dependencies, { app, userId, sessionId }), callId);
    const hookContext = await JobHookContext.open(dependencies, { ...call, args: { value } }, row, current);
    await runCancelHook(dependencies, hookContext, current);
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    if (storeErrorIn(error) !== undefined) throw error;
    callLogger(dependencies, { app, sessionId, callKey, agent, tool: row.tool }).warn(
      'the cancel hook of an unwanted job failed',
      dependencies.conceal ? {} : { problem: describeFailure(error).message },
    );
  }
}

async function eventsOf(
  { store }: Pick<ActivityDependencies, 'store'>,
  names: { app: string; userId: string; sessionId: string },
) {
  return (await store.sessions.readEvents({ ...names, limit: Number.MAX_SAFE_INTEGER })).map(
    ({ event }) => event,
  );
}
