import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { awaitedJob } from '../../src/flows/awaited-job.ts';
import { TIMEOUT_MARGIN } from '../../src/flows/plan-calls.ts';
import { transcriptView } from '../../src/flows/transcript.ts';
import type { EndedAgent } from '../../src/protocol/agent-run.ts';
import { jobIdOf } from '../../src/protocol/identity.ts';
import type { EndedDetachedJob, JobEnded } from '../../src/protocol/job.ts';
import type { ToolCallInput, ToolCallResult } from '../../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { JsonValueError } from '../../src/schema/json-value.ts';
import type { ApprovalRow } from '../../src/store/approvals/approval-store.ts';
import { type StoreUnavailable, Unstorable } from '../../src/store/store-errors.ts';
import type { BeginCall, BegunCall, CallActions, SettledCall } from '../../src/store/turns/call-store.ts';
import { type AgentOfTool, agentOfTool } from '../../src/tools/agent-of-tool.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { ContextInit } from '../../src/tools/context-init.ts';
import { resolveDurableOptions } from '../../src/tools/durable-options.ts';
import type { TranscriptView } from '../../src/tools/invocation-context.ts';
import { callerOf, NotDeployedHere } from '../agents.ts';
import { beginAnswered, beginUnanswered } from '../approvals/begin-answered.ts';
import { CallAnswers } from '../approvals/call-answers.ts';
import { recordClaims } from '../approvals/claimed-entries.ts';
import { type CallToSuspend, suspendCall } from '../approvals/suspend-call.ts';
import { type Attempt, attempt, isLastRefusal } from '../attempt.ts';
import { assertOwnRun, outcomeOfAgent, ranAgent } from '../children/agent-of-call.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { pluginsOf } from '../deployment.ts';
import { assertOwnJob, awaitJob } from '../jobs/await-job.ts';
import { endJob } from '../jobs/end-job.ts';
import { JobOfCall } from '../jobs/job-of-call.ts';
import { untilBack, withLastingStore } from '../lasting-store.ts';
import { reportUnexpected } from '../logging.ts';
import { CallReport } from '../telemetry/reports.ts';
import { errorType } from '../telemetry/turn-metrics.ts';
import { asPlanned, assertCallOfApp, digestOfCarried, plannedArguments } from './as-planned.ts';
import { callContext, contextInitOf } from './call-context.ts';
import { mayBeElsewhere, notDeployed, ownTool, searchTool } from './call-tool.ts';
import { type AskingRun, OpenCall } from './open-call.ts';
import { type CallOutcome, callResult, errorOutcome, rejection, settleCall } from './settle-call.ts';
import { ToolCallbacks } from './tool-callbacks.ts';
import { AsksTooOften, hasNotRun, retryUnlessSpent, type StartedCall, ToolChanged } from './tool-failure.ts';

/** Milliseconds of the margin of a call's schedule that may pass before it has begun. */
const LATE_BEGINNING = 500;

/** What a tool that isn't found is tried again like. */
const DEFAULT_OPTIONS = resolveDurableOptions({});

/** The activity of every call: its type is the name of the tool, or of the code executor. */
export function runTool(
  dependencies: ActivityDependencies,
): (input: ToolCallInput) => Promise<ToolCallResult | JobEnded | EndedDetachedJob> {
  return (input) => {
    const { callKey, agent, job } = input;
    const place = { callKey, agent, tool: activityInfo().activityType };
    return attempt<ToolCallResult | JobEnded | EndedDetachedJob>(
      (current) => {
        const lasting = withLastingStore(dependencies, current, place);
        if (job === undefined) return new ToolCall(lasting, input, current).run();
        assertOwnJob(input, job.jobId);
        return job.do === 'wait'
          ? awaitJob(lasting, input, job, current)
          : endJob(lasting, input, job, current);
      },
      reportUnexpected(dependencies, place),
    );
  };
}

type Begun = BegunCall | Awaited<ReturnType<typeof beginAnswered>>;

interface RanCall {
  begun: StartedCall;
  tool: BaseTool;
  runs: AgentOfTool;
  ran: EndedAgent;
  callbacks: ToolCallbacks;
  init: ContextInit;
}

class ToolCall {
  readonly #dependencies: ActivityDependencies;
  #input: ToolCallInput;
  readonly #current: Attempt;
  readonly #name = activityInfo().activityType;
  #report: CallReport | undefined;
  /** What callbacks did when the call was planned: done, whatever becomes of it. */
  #prepared: CallActions = {};
  #requests: readonly ApprovalRow[] = [];

  constructor(dependencies: ActivityDependencies, input: ToolCallInput, current: Attempt) {
    this.#dependencies = dependencies;
    this.#input = input;
    this.#current = current;
  }

  async run(): Promise<ToolCallResult> {
    let agent: LlmAgent;
    let own: BaseTool | undefined;
    try {
      agent = callerOf(this.#dependencies.deployment, this.#input);
      own = this.#ownTool(agent);
    } catch (error) {
      return await this.#refused(error);
    }
    const begun = await this.#begin(own, agent);
    if (begun.kind === 'settled') return await this.#known(own, begun);
    // It was decided otherwise before, as a workflow that was reset can't know.
    this.#requests = begun.kind === 'closed' ? [begun.request] : 'requests' in begun ? begun.requests : [];
    if (begun.kind === 'closed')
      return await this.#settle(own, { ...rejection(begun.request.reason), actions: {} });
    this.#prepared = begun.prepared ?? {};
    await assertCallOfApp(this.#dependencies, { input: this.#input, begun });
    this.#input = await this.#believed(begun, agent);
    const answers = this.#answers(begun);
    if (answers.refusal !== undefined) {
      return await this.#settle(own, { ...rejection(answers.refusal.reason), actions: {} });
    }
    const { names, invocationId, userContent, state } = begun;
    const { toolEdits: edits } = begun.remembered;
    const abortSignal = this.#current.signal;
    const { handedOn } = this.#input;
    const scene = { names, invocationId, userContent, agent, state, abortSignal, handedOn };
    let tool = own;
    if (tool === undefined || edits.length > 0) {
      try {
        const init = contextInitOf(scene);
        const { deployment } = this.#dependencies;
        const search = { deployment, agent, init, edits, current: this.#current, time: this.#searchTime() };
        tool = await searchTool(search, this.#name, own);
      } catch (error) {
        return await this.#notFound(begun, error);
      }
    }
    const callbacks = this.#callbacks(agent, begun);
    const wantsTranscript = !callbacks.isEmpty || tool.durable.needsTranscript;
    const transcript = wantsTranscript ? await this.#transcript(begun) : undefined;
    const report = new CallReport(this.#dependencies.telemetry, this.#input, tool, begun);
    this.#report = report;
    const init = contextInitOf({ ...scene, transcript });
    const { ran } = this.#input;
    const runs = agentOfTool(tool);
    if (runs !== undefined && ran !== undefined) {
      return await this.#settleRan({ begun, tool, runs, ran, callbacks, init });
    }
    const job = await this.#job(tool, begun, answers);
    const call = { input: this.#input, begun, agent, tool, callbacks, init, answers, report, job };
    const outcome = await new OpenCall(this.#dependencies, this.#current, call).outcome();
    if ('parks' in outcome) {
      this.#dependencies.telemetry.metrics.requestsEnded(this.#requests);
      return { v: PROTOCOL_VERSION, parks: outcome.parks };
    }
    if ('runs' in outcome) return { v: PROTOCOL_VERSION, runs: true };
    if (!('asked' in outcome)) return await this.#settle(tool, outcome);
    const n = answers.next;
    if (n === undefined) return await this.#settle(tool, errorOutcome(new AsksTooOften(tool)));
    return await this.#suspend({ ...call, current: this.#current, n }, outcome);
  }

  /** @throws ApprovalNotProven: nothing has run. */
  async #believed(begun: StartedCall, agent: LlmAgent): Promise<ToolCallInput> {
    const claimed = { input: this.#input, agent, tool: this.#name, requests: this.#requests };
    try {
      return await asPlanned(this.#dependencies, claimed);
    } catch (error) {
      await this.#hasNotRun(begun, error);
      throw error;
    }
  }

  /** Its agent has run. */
  async #settleRan({ begun, tool, runs, ran, callbacks, init }: RanCall): Promise<ToolCallResult> {
    const { session, callKey, callId } = this.#input;
    await assertOwnRun(this.#dependencies.store, this.#input, runs, ran.runKey);
    const { end, actions } = await ranAgent(this.#dependencies.store, session, runs, ran);
    const stateDelta = { ...this.#prepared.stateDelta, ...actions.stateDelta };
    this.#prepared = {
      ...this.#prepared,
      ...actions,
      ...(Object.keys(stateDelta).length === 0 ? {} : { stateDelta }),
    };
    const once = {
      get: (key: string) => begun.once[key],
      put: async (_key: string, value: unknown) => value,
    };
    const call = { callId, callKey, attempt: begun.attempt, once, heartbeat: () => undefined };
    const context = callContext(init, call, this.#current.signal, this.#prepared);
    const args = structuredClone(plannedArguments(this.#input, begun));
    const outcome = await outcomeOfAgent(runs, end, {
      callbacks,
      call: { tool, args, context },
      time: tool.durable.timeout,
      current: this.#current,
    });
    const { status, error } = end;
    const failed = status === 'completed' ? undefined : { type: errorType(error?.code ?? status) };
    if (ran.beganAt !== undefined) this.#report?.ranAgent(ran.beganAt, failed);
    return await this.#settle(tool, outcome);
  }

  async #suspend(call: CallToSuspend, asking: AskingRun): Promise<ToolCallResult> {
    try {
      return { v: PROTOCOL_VERSION, asks: await suspendCall(this.#dependencies, call, asking) };
    } catch (error) {
      if (!(error instanceof JsonValueError || error instanceof Unstorable)) throw error;
      return await this.#settle(call.tool, errorOutcome(error));
    }
  }

  #answers(begun: StartedCall): CallAnswers {
    const { callKey, prepared = false } = this.#input;
    const args = plannedArguments(this.#input, begun);
    return new CallAnswers({ callKey, args, prepared, requests: this.#requests });
  }

  /** @throws NotDeployedHere where nobody else can have it either. */
  #ownTool(agent: LlmAgent): BaseTool | undefined {
    const called = { name: this.#name, callId: this.#input.callId };
    const own = ownTool(agent, called);
    if (own === undefined && !mayBeElsewhere(this.#dependencies.deployment, agent, called)) {
      throw notDeployed(agent, this.#name);
    }
    return own;
  }

  /**
   * What a store has begun whose answer got lost would be an attempt of unknown outcome: it is asked again, until it says. Where that has
   * taken the time that is the tool's, another attempt runs it.
   *
   * @throws StoreUnavailable
   */
  async #begin(own: BaseTool | undefined, agent: LlmAgent): Promise<Begun> {
    let away: StoreUnavailable | undefined;
    const began = performance.now();
    const beginning = this.#beginning(own);
    const { answered } = this.#input;
    const begun = await untilBack(
      async (): Promise<Begun> => {
        if (answered === undefined) return await beginUnanswered(this.#dependencies, beginning);
        return await beginAnswered(this.#dependencies, beginning, answered, agent);
      },
      this.#current,
      (reason) => {
        away = reason;
      },
    );
    if (away === undefined || begun.kind !== 'started' || performance.now() - began < LATE_BEGINNING)
      return begun;
    await this.#hasNotRun(begun, away);
    throw away;
  }

  #beginning(own: BaseTool | undefined): BeginCall {
    // A local attempt is scheduled by its worker's clock, and others have others.
    const { isLocal, currentAttemptScheduledTimestampMs } = activityInfo();
    const { session, runKey, callKey, callId, args, exclusive = false } = this.#input;
    return {
      session,
      runKey,
      callKey,
      callId,
      tool: this.#name,
      argsDigest: digestOfCarried(args),
      wantArgs: 'ref' in args,
      seesSiblings: own === undefined ? exclusive : !own.durable.isConcurrencySafe,
      token: randomUUID(),
      ...(isLocal ? {} : { scheduledAt: currentAttemptScheduledTimestampMs }),
    };
  }

  #callbacks(agent: LlmAgent, { names }: StartedCall): ToolCallbacks {
    const plugins = pluginsOf(this.#dependencies.deployment, names.app);
    return this.#input.callId === '' ? ToolCallbacks.none(agent) : new ToolCallbacks(agent, plugins);
  }

  async #transcript(begun: StartedCall): Promise<TranscriptView> {
    const { store, transcripts } = this.#dependencies;
    const { names, invocationId } = begun;
    try {
      const transcript = await transcripts.current(this.#input.session, names, (after) =>
        store.sessions.readEvents({ ...names, after, limit: Number.MAX_SAFE_INTEGER }),
      );
      return transcriptView(transcript, invocationId);
    } catch (error) {
      await this.#hasNotRun(begun, error);
      throw error;
    }
  }

  /** The next attempt finds no unknown outcome. */
  #hasNotRun(begun: StartedCall, thrown: unknown): Promise<void> {
    return hasNotRun(this.#dependencies, { input: this.#input, begun }, thrown);
  }

  async #refused(error: unknown): Promise<ToolCallResult> {
    if (!(error instanceof NotDeployedHere) || !isLastRefusal()) throw error;
    const { session, answered } = this.#input;
    if (answered !== undefined) {
      await recordClaims(this.#dependencies, { session, entries: answered.entries });
      return await this.#settle(undefined, errorOutcome(new ToolChanged()));
    }
    return await this.#settle(undefined, errorOutcome(new Error(`${error.message}; it may have run`)));
  }

  async #notFound(begun: StartedCall, error: unknown): Promise<ToolCallResult> {
    const isAborted = this.#current.signal.aborted;
    if (isAborted || error instanceof NotDeployedHere) await this.#hasNotRun(begun, error);
    if (isAborted) throw this.#current.aborted();
    if (error instanceof NotDeployedHere) return await this.#refused(error);
    const call = { input: this.#input, begun, tool: this.#name, durable: DEFAULT_OPTIONS };
    await retryUnlessSpent(this.#dependencies, call, error);
    return await this.#settle(undefined, errorOutcome(error));
  }

  async #settle(tool: BaseTool | undefined, outcome: CallOutcome): Promise<ToolCallResult> {
    const { store, telemetry } = this.#dependencies;
    const { session, callKey } = this.#input;
    const settled = await settleCall(store, { session, callKey, tool: this.#name }, outcome, this.#prepared);
    if (settled.first) {
      this.#report?.settled(settled.failed);
      telemetry.metrics.requestsEnded(this.#requests);
    }
    const { detached, answersError } = outcome;
    const result = this.#result(tool, settled, answersError === true);
    return detached === undefined ? result : { ...result, detached };
  }

  /** Settled before; a job that goes on without its turn is to be waited for again, where a workflow has forgotten it. */
  async #known(
    tool: BaseTool | undefined,
    settled: Extract<BegunCall, { kind: 'settled' }>,
  ): Promise<ToolCallResult> {
    const result = this.#result(tool, settled);
    if (tool?.durable.execution === 'local' || this.#input.callId === '') return result;
    const row = await this.#dependencies.store.jobs.find(jobIdOf(this.#input.session, this.#input.callKey));
    if (row?.mode !== 'detached') return result;
    const timeLeft = Math.max(row.until - (await this.#dependencies.store.now()), 1);
    return { ...result, detached: awaitedJob(tool, row.jobId, timeLeft) };
  }

  /** Undefined for a call that can have none. */
  async #job(tool: BaseTool, begun: StartedCall, answers: CallAnswers): Promise<JobOfCall | undefined> {
    if (tool.durable.execution === 'local' || this.#input.callId === '') return undefined;
    const now = await this.#dependencies.store.now();
    return new JobOfCall(this.#dependencies, { input: this.#input, begun, tool, answers }, now);
  }

  #result(
    tool: BaseTool | undefined,
    settled: Omit<SettledCall, 'first'> & Partial<SettledCall>,
    answersError?: boolean,
  ) {
    return callResult(this.#input.callKey, tool, settled, answersError);
  }

  /** What the schedule gives an attempt, without its margin. */
  #searchTime(): number {
    const { startToCloseTimeoutMs } = activityInfo();
    return Math.max(startToCloseTimeoutMs - TIMEOUT_MARGIN, 1);
  }
}
