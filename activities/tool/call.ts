import { activityInfo } from '@temporalio/activity';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { ContextArtifacts } from '../../src/artifacts/context-artifacts.ts';
import { hasCode } from '../../src/contract/error.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { awaitedJob } from '../../src/flows/plan-calls.ts';
import { jobIdOf } from '../../src/protocol/identity.ts';
import type { AwaitedJob, EndedDetachedJob, JobEnded } from '../../src/protocol/job.ts';
import { TOOL_FAILED } from '../../src/protocol/names.ts';
import type { ToolCallInput, ToolCallResult } from '../../src/protocol/step.ts';
import { JsonValueError } from '../../src/schema/json-value.ts';
import { Unstorable } from '../../src/store/store-errors.ts';
import type { BegunCall, CallActions } from '../../src/store/turns/call-store.ts';
import { agentOfTool, type BaseTool } from '../../src/tools/base-tool.ts';
import type { Asked } from '../../src/tools/call-questions.ts';
import { callerOf, NotDeployedHere } from '../agents.ts';
import { askOfUnknown, RecordedAnswers } from '../approvals/call-answers.ts';
import { recordClaims } from '../approvals/claimed-entries.ts';
import { suspendCall } from '../approvals/suspend-call.ts';
import { type Attempt, isLastRefusal, isLastSearch, isRetryLater } from '../attempt.ts';
import { resultOfAgent } from '../children/agent-of-call.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';
import { assertOwnJob, awaitJob } from '../jobs/await-job.ts';
import { endJob } from '../jobs/end-job.ts';
import { notesIn } from '../jobs/job-notes.ts';
import type { ParkedRun } from '../jobs/job-outcomes.ts';
import type { CallReport } from '../telemetry/reports.ts';
import { assertPlanned, beginCall, plannedArguments, trustedInput } from './begin-call.ts';
import { CallCredentials, contextInitOf, storedBefore } from './call-context.ts';
import { deployedTool, searchTime, searchTool, wasSearched } from './find-tool.ts';
import {
  type CallOutcome,
  callResult,
  errorOutcome,
  LEAST_CALLBACK_TIME,
  outcomeOfFailure,
  rejection,
  settleCall,
} from './settle-call.ts';
import { spooledOutcome } from './spool-result.ts';
import type { AskedPerson } from './tool-attempt.ts';
import {
  describeFailure,
  endingError,
  isToolTimeout,
  isUnknownOutcome,
  recordedFailure,
  recordMayHaveRun,
  retryUnlessSpent,
  retryWithoutTool,
  type StartedCall,
  storeErrorIn,
  toolChanged,
  tooManyRequests,
  unknownOutcome,
} from './tool-failure.ts';
import { type CallToRun, ToolRun } from './tool-run.ts';

/**
 * Where a call stands in an attempt of its activity. `#next` has the transitions:
 *
 *     new ─────▶ begun | settled | refused | finished
 *     begun ───▶ ready | refused | finished
 *     ready ───▶ running | unknown | failed | parked | finished
 *     running ─▶ finished | failed | waiting | parked | child
 *     unknown ─▶ waiting | failed
 *     failed ──▶ finished | unknown, or another attempt
 *     refused ─▶ finished
 *     waiting ─▶ over, or finished where it can't ask
 *     settled, parked, child, finished ─▶ over
 */
type CallState =
  /** This attempt has recorded nothing. */
  | { is: 'new' }
  /** The ledger has counted this attempt. */
  | ({ is: 'begun'; own: BaseTool | undefined } & Pick<CallToRun, 'begun' | 'agent' | 'credentials'>)
  /** The tool is there. */
  | { is: 'ready'; run: ToolRun }
  /** A failure from here on may have had an effect. */
  | { is: 'running'; run: ToolRun }
  /** An attempt may have had its effect: the outcome is unknown. */
  | { is: 'unknown'; run: ToolRun; thrown?: unknown }
  | { is: 'failed'; run: ToolRun; thrown: unknown; isFinal: boolean }
  /** People have not let it run. */
  | { is: 'refused'; by: ApprovalRow; tool: BaseTool | undefined }
  /** It asks a person, and is suspended. */
  | { is: 'waiting'; run: ToolRun; asking: AskedPerson }
  /** Its job goes on, and the turn waits for it. */
  | { is: 'parked'; job: AwaitedJob }
  /** The workflow runs its agent. */
  | { is: 'child' }
  /** An earlier attempt has settled it. */
  | { is: 'settled'; settled: Extract<BegunCall, { kind: 'settled' }>; tool: BaseTool | undefined }
  /** The ledger is to have its outcome. */
  | { is: 'finished'; outcome: CallOutcome; tool: BaseTool | undefined }
  | { is: 'over'; result: ToolCallResult };

type StateOf<Is extends CallState['is']> = Extract<CallState, { is: Is }>;
type Next<Is extends CallState['is']> = Promise<StateOf<Is>>;

/** The activity of every call: its type is the name of the tool, or of the code executor. */
export async function runTool(
  dependencies: ActivityDependencies,
  input: ToolCallInput,
  current: Attempt,
): Promise<ToolCallResult | JobEnded | EndedDetachedJob> {
  const { job } = input;
  if (job === undefined) return await new Call(dependencies, input, current).run();
  assertOwnJob(input, job.jobId);
  return job.do === 'wait'
    ? await awaitJob(dependencies, input, job, current)
    : await endJob(dependencies, input, job, current);
}

class Call {
  readonly #dependencies: ActivityDependencies;
  #input: ToolCallInput;
  readonly #current: Attempt;
  readonly #name = activityInfo().activityType;
  #report: CallReport | undefined;
  /** Traces of attempts that may have run, where another run could do harm. */
  #known: Pick<StartedCall, 'unknown' | 'once'> | undefined;
  /** Effects of callbacks when the call was planned: they stay for every end of the call. */
  #prepared: CallActions = {};
  #requests: readonly ApprovalRow[] = [];
  #artifacts: ContextArtifacts | undefined;
  #marks = false;

  constructor(dependencies: ActivityDependencies, input: ToolCallInput, current: Attempt) {
    this.#dependencies = dependencies;
    this.#input = input;
    this.#current = current;
  }

  async run(): Promise<ToolCallResult> {
    let state: CallState = { is: 'new' };
    while (state.is !== 'over') state = await this.#next(state);
    return state.result;
  }

  /** @throws an error after which the call is tried again. */
  async #next(state: Exclude<CallState, { is: 'over' }>): Promise<CallState> {
    switch (state.is) {
      case 'new':
        return await this.#begin();
      case 'begun':
        return await this.#prepare(state);
      case 'ready':
        return await this.#start(state);
      case 'running':
        return await this.#run(state);
      case 'unknown':
        return afterUnknown(state);
      case 'failed':
        return await this.#fail(state);
      case 'refused':
        return finished(state.tool, { ...rejection(state.by.reason), actions: {} });
      case 'waiting':
        return await this.#suspend(state);
      case 'parked':
        this.#dependencies.telemetry.metrics.requestsEnded(this.#requests);
        return over({ v: PROTOCOL_VERSION, parks: state.job });
      case 'child':
        return over({ v: PROTOCOL_VERSION, runs: true });
      case 'settled':
        return over(await this.#read(state));
      case 'finished':
        return over(await this.#settle(state));
    }
  }

  async #begin(): Next<'begun' | 'settled' | 'refused' | 'finished'> {
    const input = this.#input;
    let agent: LlmAgent;
    let own: BaseTool | undefined;
    try {
      agent = callerOf(this.#dependencies.deployment, input);
      own = deployedTool(this.#dependencies.deployment, agent, { name: this.#name, callId: input.callId });
    } catch (error) {
      return await this.#refusedHere(error);
    }
    const stored = storedBefore(this.#dependencies, input.session, own);
    const begun = await beginCall(this.#dependencies, { input, agent, own }, this.#current);
    if (begun.kind === 'settled') return { is: 'settled', settled: begun, tool: own };
    // The store has another decision, from before the workflow was reset.
    this.#requests = begun.kind === 'closed' ? [begun.request] : 'requests' in begun ? begun.requests : [];
    if (begun.kind === 'closed') return { is: 'refused', by: begun.request, tool: own };
    this.#known = begun;
    this.#prepared = begun.prepared ?? {};
    const credentials = new CallCredentials(this.#dependencies, begun.names, stored);
    return { is: 'begun', begun, agent, own, credentials };
  }

  /** @throws HOLDFAST_APPROVAL_NOT_PROVEN, AgentOfAnotherApp: nothing has run. */
  async #prepare({ own, ...given }: StateOf<'begun'>): Next<'ready' | 'refused' | 'finished'> {
    const { begun, agent, credentials } = given;
    const requests = this.#requests;
    this.#input = await trustedInput(this.#dependencies, { input: this.#input, begun, requests });
    const input = this.#input;
    const { callKey, prepared = false, handedOn } = input;
    const args = plannedArguments(input, begun);
    const answers = new RecordedAnswers({ callKey, args, prepared, requests });
    if (answers.refusal !== undefined) return { is: 'refused', by: answers.refusal, tool: own };
    let tool: BaseTool;
    try {
      const { deployment } = this.#dependencies;
      const current = this.#current;
      const asking = { agent, abortSignal: current.signal, transfers: handedOn, services: { credentials } };
      const init = contextInitOf({ ...begun, ...asking });
      const edits = begun.remembered.toolEdits;
      const search = { deployment, agent, init, edits, current, time: searchTime() };
      tool = await searchTool(search, { name: this.#name, callId: input.callId });
    } catch (error) {
      return await this.#notFound(begun, error);
    }
    await assertPlanned(this.#dependencies, { input, begun, requests }, tool);
    const run = await ToolRun.open(this.#dependencies, this.#current, { ...given, input, tool, answers });
    this.#marks = settingsOf(this.#dependencies.deployment, begun.names.app).markUntrusted;
    if (run.isHarmless) this.#known = undefined;
    this.#report = run.call.report;
    this.#artifacts = run.call.init.artifacts;
    return { is: 'ready', run };
  }

  async #start({ run }: StateOf<'ready'>): Next<'running' | 'unknown' | 'failed' | 'parked' | 'finished'> {
    const { input, begun, tool, job } = run.call;
    const runs = agentOfTool(tool);
    if (runs !== undefined && input.ran !== undefined) {
      const call = { ...run.call, runs, ran: input.ran };
      const { outcome, done } = await resultOfAgent(this.#dependencies.store, call, this.#current);
      this.#prepared = done;
      return finished(tool, outcome);
    }
    const left = await job?.left();
    if (left !== undefined) {
      const { actions } = notesIn(await this.#dependencies.store.turns.readOnce(input));
      return ofJob(tool, await run.jobOutcomes.of(left, actions));
    }
    const problem = await run.problem();
    if (problem !== undefined) return { is: 'failed', run, thrown: problem, isFinal: true };
    if (!run.isForOneStart && begun.failures >= tool.durable.retry.maximumAttempts) {
      // The worker was lost before callbacks had answered what was the last failure.
      const thrown = recordedFailure(begun.lastError ?? 'it has failed');
      return { is: 'failed', run, thrown, isFinal: true };
    }
    const isUnknown = this.#known?.unknown === true && run.onUnknown !== 'retry';
    return isUnknown ? { is: 'unknown', run } : { is: 'running', run };
  }

  async #run({ run }: StateOf<'running'>): Next<'finished' | 'failed' | 'waiting' | 'parked' | 'child'> {
    const { current, chunks } = run;
    try {
      const next = await afterRun(run);
      if (next.is === 'finished' && !next.outcome.failed) chunks?.end();
      else chunks?.drop();
      return next;
    } catch (thrown) {
      chunks?.drop();
      if (current.signal.aborted) throw current.aborted();
      return { is: 'failed', run, thrown, isFinal: false };
    }
  }

  async #fail({ run, thrown: cause, isFinal }: StateOf<'failed'>): Next<'finished' | 'unknown'> {
    const { current, jobOutcomes, before } = run;
    const { tool, job, report, callbacks } = run.call;
    const thrown = endingError(this.#known, cause);
    if (!isFinal) {
      await run.recorded();
      if (current.signal.aborted) throw current.aborted();
      const storeError = storeErrorIn(cause);
      if (storeError !== undefined) throw storeError;
      if (isRetryLater(cause)) throw cause;
      const isLate = isToolTimeout(cause);
      if (isLate && tool.job.inProcess && job !== undefined) {
        return finished(tool, await jobOutcomes.outOfTime(job, before));
      }
      report.failed(isLate ? 'timeout' : TOOL_FAILED);
      if (isUnknownOutcome(cause)) {
        await recordMayHaveRun(this.#dependencies, this.#input);
        if (run.onUnknown !== 'retry') return { is: 'unknown', run, thrown: cause };
      }
      if (!run.isForOneStart) await retryUnlessSpent(this.#dependencies, run.tried, cause, thrown);
    }
    const outcome = { response: { error: describeFailure(thrown).message }, failed: true };
    if (isFinal && job?.isOpen && hasCode(cause, 'HOLDFAST_NEVER_ANSWERED'))
      return finished(tool, await jobOutcomes.abandoned(job, outcome, before));
    const ended = await job?.end(outcome);
    if (ended !== undefined) return finished(tool, await jobOutcomes.ended(ended, before));
    const time = Math.max(Math.round(run.timeLeft), LEAST_CALLBACK_TIME);
    return finished(tool, await outcomeOfFailure(callbacks, { call: run.called(), thrown, time, current }));
  }

  async #suspend({ run, asking }: StateOf<'waiting'>): Next<'over' | 'finished'> {
    const { tool, answers } = run.call;
    const n = answers.next;
    if (n === undefined) return finished(tool, errorOutcome(tooManyRequests(tool), this.#known));
    const call = { ...run.call, current: this.#current, n };
    try {
      const asks = await suspendCall(this.#dependencies, call, { ...asking, args: run.args });
      return over({ v: PROTOCOL_VERSION, asks });
    } catch (error) {
      if (!(error instanceof JsonValueError || error instanceof Unstorable)) throw error;
      return finished(tool, errorOutcome(error, this.#known));
    }
  }

  async #settle({ outcome: given, tool }: StateOf<'finished'>): Promise<ToolCallResult> {
    const { store, telemetry } = this.#dependencies;
    const { session, callKey } = this.#input;
    const outcome = await spooledOutcome(given, { tool, callKey, artifacts: this.#artifacts });
    const call = { session, callKey, tool: this.#name, by: this.#marks ? tool : undefined };
    const settled = await settleCall(store, call, outcome, this.#prepared);
    if (settled.first) {
      this.#report?.settled(settled.failed);
      telemetry.metrics.requestsEnded(this.#requests);
    }
    const { detached, answersError } = outcome;
    const result = await callResult(this.#dependencies, this.#input, tool, settled, answersError === true);
    return detached === undefined ? result : { ...result, detached };
  }

  /** A job that goes on without its turn is to be waited for again, where a workflow has forgotten it. */
  async #read({ settled, tool }: StateOf<'settled'>): Promise<ToolCallResult> {
    const { session, callKey, callId } = this.#input;
    const result = await callResult(this.#dependencies, this.#input, tool, settled);
    if (this.#current.isInline || callId === '') return result;
    const { store } = this.#dependencies;
    const row = await store.jobs.find(jobIdOf(session, callKey));
    if (row?.mode !== 'detached') return result;
    const timeLeft = Math.max(row.until - (await store.now()), 1);
    return { ...result, detached: awaitedJob(tool, row.jobId, timeLeft) };
  }

  /** This worker has no such agent or tool; on the last attempt nobody is taken to have it. */
  async #refusedHere(error: unknown): Next<'finished'> {
    if (!(error instanceof NotDeployedHere)) throw error;
    if (!isLastRefusal() && !(wasSearched(error) && isLastSearch())) throw error;
    const { session, callKey, answered } = this.#input;
    this.#known = await this.#dependencies.store.turns.findCall({ session, callKey });
    if (answered === undefined) return finished(undefined, errorOutcome(error, this.#known));
    await recordClaims(this.#dependencies, { session, entries: answered.entries });
    return finished(undefined, errorOutcome(toolChanged(), this.#known));
  }

  async #notFound(begun: StartedCall, error: unknown): Next<'finished'> {
    const tried = { input: this.#input, begun, tool: this.#name };
    await retryWithoutTool(this.#dependencies, tried, error, this.#current);
    if (error instanceof NotDeployedHere) return await this.#refusedHere(error);
    return finished(undefined, errorOutcome(error, this.#known));
  }
}

/** The state after the run of a call: its gate, its credentials and its job come before its tool. */
async function afterRun(run: ToolRun): Next<'finished' | 'waiting' | 'parked' | 'child'> {
  const { jobOutcomes } = run;
  const { tool, answers, job } = run.call;
  const missing = await run.openCredentials();
  if (missing !== undefined) return waiting(run, missing);
  const isOpen = answers.hasPassed(tool) || tool.gate?.confirmation === undefined;
  if (agentOfTool(tool) !== undefined) return isOpen ? { is: 'child' } : await afterGate(run);
  // A gate that wasn't passed yet comes first.
  const ended = isOpen ? await run.beforeRun(async () => await job?.begun()) : undefined;
  if (ended !== undefined) return finished(tool, await jobOutcomes.ended(ended, run.before));
  const outcome = await run.run();
  if ('asked' in outcome) return { is: 'waiting', run, asking: outcome };
  if (!('left' in outcome)) return finished(tool, outcome);
  return ofJob(tool, await jobOutcomes.of(outcome.left, outcome.actions));
}

/** The state of a call whose tool is an agent. */
async function afterGate(run: ToolRun): Next<'finished' | 'waiting' | 'child'> {
  const { asked, kept } = await run.gate();
  if (asked !== undefined) return waiting(run, asked);
  return kept === undefined ? { is: 'child' } : finished(run.call.tool, kept);
}

function afterUnknown({ run, thrown }: StateOf<'unknown'>): StateOf<'waiting' | 'failed'> {
  if (run.onUnknown === 'ask') return waiting(run, askOfUnknown(run.call.tool));
  return { is: 'failed', run, thrown: unknownOutcome(thrown), isFinal: true };
}

function ofJob(tool: BaseTool, outcome: CallOutcome | ParkedRun): StateOf<'parked' | 'finished'> {
  return 'parks' in outcome ? { is: 'parked', job: outcome.parks } : finished(tool, outcome);
}

function waiting(run: ToolRun, asked: Asked): StateOf<'waiting'> {
  return { is: 'waiting', run, asking: { asked, prepared: false, stateDelta: {} } };
}

function finished(tool: BaseTool | undefined, outcome: CallOutcome): StateOf<'finished'> {
  return { is: 'finished', tool, outcome };
}

function over(result: ToolCallResult): StateOf<'over'> {
  return { is: 'over', result };
}
