import { AsyncResource } from 'node:async_hooks';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { TOOL_FAILED } from '../../src/protocol/names.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import { AttemptReplaced } from '../../src/store/store-errors.ts';
import type { CallActions } from '../../src/store/turns/call-store.ts';
import { agentOfTool } from '../../src/tools/agent-of-tool.ts';
import { withoutSecrets } from '../../src/tools/auth-config.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { type Asked, CallQuestions } from '../../src/tools/call-questions.ts';
import { askedOf, type Context } from '../../src/tools/context.ts';
import type { CallInit, ContextInit } from '../../src/tools/context-init.ts';
import type { OnUnknownOutcome } from '../../src/tools/durable-options.ts';
import { keptFromRunning } from '../../src/tools/unpassed-gate.ts';
import { askOfUnknown, type CallAnswers } from '../approvals/call-answers.ts';
import { type Attempt, endable, isRetryLater } from '../attempt.ts';
import { afterTime } from '../deadline.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { notesIn } from '../jobs/job-notes.ts';
import type { EndedOtherwise, JobOfCall } from '../jobs/job-of-call.ts';
import { JobOutcomes, type ParkedRun } from '../jobs/job-outcomes.ts';
import type { CallReport } from '../telemetry/reports.ts';
import { plannedArguments } from './as-planned.ts';
import { CallCredentials, callContext } from './call-context.ts';
import { LiveChunks } from './live-chunks.ts';
import { type CallOutcome, LEAST_CALLBACK_TIME, outcomeOfFailure } from './settle-call.ts';
import { type AskedPerson, attemptTool, type RunOfJob } from './tool-attempt.ts';
import type { ToolCallbacks } from './tool-callbacks.ts';
import { ToolCancellation } from './tool-cancellation.ts';
import {
  describeFailure,
  hasNotRun,
  hidesTexts,
  isToolTimeout,
  loggerOf,
  NeverAnswered,
  recordedFailure,
  retryUnlessSpent,
  type StartedCall,
  storeErrorIn,
  ToolChanged,
  type TriedCall,
  UnknownOutcome,
} from './tool-failure.ts';

/** Under which a call's `once` results say that its before-callbacks needn't be asked again. */
export const PREPARED = 'holdfast:prepared';

export interface CallToRun {
  input: ToolCallInput;
  begun: StartedCall;
  agent: LlmAgent;
  tool: BaseTool;
  callbacks: ToolCallbacks;
  /** Of all contexts of the call. */
  init: ContextInit;
  answers: CallAnswers;
  report: CallReport;
  /** Undefined for a call that can have none. */
  job: JobOfCall | undefined;
}

/** What a call asks a person, and with which arguments it goes on once it is answered. */
export interface AskingRun extends AskedPerson {
  args: Record<string, unknown>;
}

/** A call that has begun and whose tool is there: from its attempt to what it is settled with, or what it asks. */
export class OpenCall {
  readonly #dependencies: ActivityDependencies;
  readonly #current: Attempt;
  /** Ends the attempt: another one has taken its place. */
  readonly #replaced: (reason: Error) => void;
  /** What is being recorded of `once`. */
  readonly #recording = new Set<Promise<unknown>>();
  readonly #call: CallToRun;
  readonly #cancellation: ToolCancellation;
  readonly #credentials: CallCredentials;
  /** The tool's, as before-callbacks have changed them. */
  readonly #args: Record<string, unknown>;
  readonly #init: CallInit;
  readonly #outcomes: JobOutcomes;
  /** What before-callbacks have done, when the call was planned or before a run that goes on at once. */
  #before: CallActions | undefined;
  #isPrepared: boolean;
  readonly #began = performance.now();

  constructor(dependencies: ActivityDependencies, current: Attempt, call: CallToRun) {
    this.#dependencies = dependencies;
    const { current: own, end } = endable(current);
    this.#current = own;
    this.#replaced = end;
    this.#call = call;
    const { input, tool, begun, answers } = call;
    this.#isPrepared = input.prepared === true || begun.once[PREPARED] === true;
    const isAsIs = this.#isPrepared || answers.isEdited;
    this.#before = begun.prepared;
    const planned = plannedArguments(input, begun);
    // People have seen them as the store has them.
    const shown = answers.isEmpty ? planned : asStored(planned);
    this.#args = structuredClone(isAsIs ? answers.args : shown);
    this.#cancellation = new ToolCancellation(tool, input.callId, (thrown) => this.#warn(thrown));
    this.#credentials = new CallCredentials(dependencies.credentials, begun.names, answers.credentialRefs);
    this.#init = this.#callInit();
    this.#outcomes = new JobOutcomes(dependencies, own, call, (actions) => ({
      tool,
      args: this.#args,
      context: callContext(call.init, this.#init, own.signal, actions),
    }));
  }

  /** @throws the failure of an attempt that is followed by another one. */
  async outcome(): Promise<CallOutcome | AskingRun | ParkedRun | { runs: true }> {
    const { begun, tool, answers, job } = this.#call;
    const left = await job?.left();
    if (left !== undefined) return await this.#outcomes.of(left, notesIn(begun.once).actions);
    const problem = await this.#problem();
    if (problem !== undefined) return await this.#failedForGood(problem);
    if (!this.#isForOneStart && begun.failures >= tool.durable.retry.maximumAttempts) {
      // The worker was lost before callbacks had answered what was the last failure.
      return await this.#failedForGood(recordedFailure(begun.lastError ?? 'it has failed'));
    }
    // What may have run is the agent, whose own calls are looked after one by one.
    const runsAgent = agentOfTool(tool) !== undefined;
    if (begun.unknown && !runsAgent && this.#onUnknown !== 'retry') return await this.#unknown();
    const chunks = this.#liveChunks();
    try {
      if (!answers.isEmpty || tool.gate?.authConfig !== undefined) {
        const missing = await this.#openCredentials();
        if (missing !== undefined) return this.#asking(missing);
      }
      if (runsAgent) return (await this.#keptAgent()) ?? { runs: true };
      // A gate that nobody has passed yet comes first.
      const ended = this.#isOpen ? await this.#openJob() : undefined;
      if (ended !== undefined) return await this.#outcomes.ended(ended, this.#before);
      const outcome = await this.#attempt(chunks);
      if (!('failed' in outcome) || outcome.failed) chunks?.drop();
      else chunks?.end();
      return outcome;
    } catch (error) {
      chunks?.drop();
      if (this.#current.signal.aborted) throw this.#current.aborted();
      return await this.#fail(error);
    }
  }

  /** Nobody need be asked by the tool's gate any more. */
  get #isOpen(): boolean {
    const { tool, answers } = this.#call;
    return answers.hasPassed(tool) || tool.gate?.confirmation === undefined;
  }

  async #openJob(): Promise<EndedOtherwise | undefined> {
    return await this.#beforeRun(async () => await this.#call.job?.begun());
  }

  /** What an agent's gate has in place of its run. */
  async #keptAgent(): Promise<CallOutcome | AskingRun | undefined> {
    if (this.#isOpen) return undefined;
    const context = this.#context(this.#current.signal, this.#questions());
    const kept = await keptFromRunning(this.#call.tool, { args: this.#args, toolContext: context });
    const asked = askedOf(context);
    if (asked !== undefined) return this.#asking(asked);
    return kept && { response: kept, failed: true, actions: {} };
  }

  /** What keeps the call from running, whatever its tool does. */
  async #problem(): Promise<Error | undefined> {
    const { tool, answers } = this.#call;
    if (answers.isEmpty) return undefined;
    if (await answers.hasChanged(tool)) return new ToolChanged();
    if (answers.isNotRepeated(tool)) return new UnknownOutcome();
    const { unanswered } = answers;
    return unanswered && new NeverAnswered(unanswered.kind === 'input' ? 'input' : 'credential');
  }

  /** An approval that the tool has asked for itself is for one start, too: its own options are those of ordinary calls. */
  get #isForOneStart(): boolean {
    const { tool, answers } = this.#call;
    return answers.isApproved && tool.gate?.confirmation === undefined;
  }

  get #onUnknown(): OnUnknownOutcome {
    const { onUnknownOutcome } = this.#call.tool.durable;
    return this.#isForOneStart && onUnknownOutcome === 'retry' ? 'fail' : onUnknownOutcome;
  }

  async #unknown(): Promise<CallOutcome | AskingRun> {
    if (this.#onUnknown !== 'ask') return await this.#failedForGood(new UnknownOutcome());
    return this.#asking(askOfUnknown(this.#call.tool));
  }

  /** @returns what is to be asked for: the tool's own credential comes before its run. */
  async #openCredentials(): Promise<Asked | undefined> {
    const authConfig = this.#call.tool.gate?.authConfig;
    await this.#beforeRun(() => this.#credentials.openGiven());
    if (authConfig === undefined) return undefined;
    const isThere = await this.#beforeRun(() => this.#credentials.open(authConfig.credentialKey));
    return isThere ? undefined : { kind: 'credential', authConfig: withoutSecrets(authConfig) };
  }

  /** What fails here has started nothing: the next attempt finds no unknown outcome. */
  async #beforeRun<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await hasNotRun(this.#dependencies, this.#call, error);
      throw error;
    }
  }

  #asking(asked: Asked): AskingRun {
    return { asked, prepared: false, stateDelta: {}, args: this.#args };
  }

  async #attempt(chunks: LiveChunks | undefined): Promise<CallOutcome | AskingRun | ParkedRun> {
    const outcome = await this.#run(chunks);
    if ('left' in outcome) return await this.#outcomes.of(outcome.left, outcome.actions);
    if (!('asked' in outcome)) return outcome;
    const { asked } = outcome;
    if (asked.kind === 'credential' && !this.#credentials.get(asked.authConfig.credentialKey)) {
      // It may be there already: the tool runs again at once.
      const isThere = await this.#credentials.open(asked.authConfig.credentialKey);
      if (isThere && outcome.prepared) {
        this.#isPrepared = true;
        const stateDelta = { ...this.#before?.stateDelta, ...outcome.stateDelta };
        this.#before = { ...this.#before, stateDelta };
        return await this.#attempt(chunks);
      }
    }
    return { ...outcome, args: this.#args };
  }

  async #run(chunks: LiveChunks | undefined): Promise<CallOutcome | AskedPerson | RunOfJob> {
    // What is cancelled before it runs needn't.
    if (this.#current.signal.aborted) throw this.#current.aborted();
    const { tool, callbacks, report, answers, job } = this.#call;
    const timeout = afterTime(job?.timeLeft ?? tool.durable.timeout);
    const ends = [this.#current.signal, timeout.signal];
    const signal = AbortSignal.any(ends);
    // The worker that fires the signal is in no activity's context; handlers are.
    const tell = AsyncResource.bind(() => {
      if (!this.#current.signal.aborted || !this.#current.movesOn()) this.#cancellation.tell();
    });
    if (tool.isLongRunning && job !== undefined && !tool.supportsCancellation()) {
      this.#cancellation.onCancel(() => this.#outcomes.tellCancelled(job));
    }
    // Its own attempt before this one has left them, and the next beat would replace them.
    if (job?.init.details !== undefined) this.#current.heartbeat(job.init.details);
    // Not on the signal of both, which costs nothing until somebody listens to it.
    for (const end of ends) end.addEventListener('abort', tell);
    try {
      return await attemptTool({
        call: { tool, args: this.#args, context: this.#context(signal, this.#questions()) },
        callbacks,
        prepared: this.#isPrepared,
        approvedArgs: answers.isApproved ? answers.args : undefined,
        hasPassed: answers.hasPassed(tool),
        current: this.#current,
        timeout: timeout.signal,
        cancellation: this.#cancellation,
        opensJob: () => this.#openJob(),
        onChunk: chunks && ((chunk) => chunks.add(chunk)),
        job,
        report,
      });
    } finally {
      for (const end of ends) end.removeEventListener('abort', tell);
      timeout.clear();
      this.#cancellation.close();
    }
  }

  #questions(): CallQuestions {
    const { tool, answers } = this.#call;
    const { inputs } = answers;
    const credential = this.#credentials.get(tool.gate?.authConfig?.credentialKey ?? '');
    return new CallQuestions({
      inputs,
      ...(credential === undefined ? {} : { credential }),
      credentialOf: (key) => this.#credentials.get(key),
      passed: answers.hasPassed(tool) ? tool.gate : undefined,
      terms: answers.terms,
    });
  }

  #context(signal: AbortSignal, questions?: CallQuestions): Context {
    const { init, tool, answers } = this.#call;
    const toolConfirmation = answers.confirmation(tool);
    return callContext(
      toolConfirmation === undefined ? init : { ...init, toolConfirmation },
      questions === undefined ? this.#init : { ...this.#init, questions },
      signal,
      this.#before,
    );
  }

  async #fail(error: unknown): Promise<CallOutcome | AskingRun> {
    // What has happened by then is known to the next attempt: a tool may be out of time while the store is away.
    await Promise.allSettled(this.#recording);
    if (this.#current.signal.aborted) throw this.#current.aborted();
    const storeError = storeErrorIn(error);
    if (storeError !== undefined) throw storeError;
    if (isRetryLater(error)) throw error;
    const { report, tool, job } = this.#call;
    const isLate = isToolTimeout(error);
    if (isLate && tool.job.inProcess && job !== undefined)
      return await this.#outcomes.outOfTime(job, this.#before);
    report.failed(isLate ? 'timeout' : TOOL_FAILED);
    if (isLate && this.#onUnknown !== 'retry') return await this.#unknown();
    if (!this.#isForOneStart) await retryUnlessSpent(this.#dependencies, this.#tried(), error);
    return await this.#failedForGood(error);
  }

  async #failedForGood(thrown: unknown): Promise<CallOutcome> {
    const { tool, callbacks, job } = this.#call;
    const ended = await job?.end({ response: { error: describeFailure(thrown).message }, failed: true });
    if (ended !== undefined) return await this.#outcomes.ended(ended, this.#before);
    const left = tool.durable.timeout - (performance.now() - this.#began);
    return await outcomeOfFailure(callbacks, {
      call: { tool, args: this.#args, context: this.#context(this.#current.signal) },
      thrown,
      time: Math.max(Math.round(left), LEAST_CALLBACK_TIME),
      current: this.#current,
    });
  }

  #liveChunks(): LiveChunks | undefined {
    const { tool, input, begun } = this.#call;
    if (tool.durable.sensitive !== false) return undefined;
    const { session, runKey, callKey } = input;
    const place = { session, runKey, callKey, tool: tool.name, attempt: begun.attempt };
    return new LiveChunks(this.#dependencies.store.live, place);
  }

  #callInit(): CallInit {
    const { input, begun, tool, job } = this.#call;
    const { session, callKey, callId } = input;
    const once = new Map(Object.entries(begun.once));
    return {
      callId,
      callKey,
      attempt: begun.attempt,
      once: {
        get: async (key) => once.get(key) ?? (await this.#askOnce(key)),
        put: async (key, value) => {
          const recording = this.#dependencies.store.turns.recordOnce({ session, callKey, key, value });
          this.#recording.add(recording);
          const first = await recording.finally(() => this.#recording.delete(recording));
          once.set(key, first);
          return first;
        },
      },
      // Temporal shows the details of a pending activity as they are.
      heartbeat: (details) => this.#current.heartbeat(tool.durable.sensitive === false ? details : undefined),
      onCancel: (handler) => this.#cancellation.onCancel(handler),
      ...(job === undefined ? {} : { job: job.init }),
    };
  }

  /** Right before an action: an attempt that stood still doesn't do what another one has done, or is to do. */
  async #askOnce(key: string): Promise<unknown> {
    const { input, begun } = this.#call;
    const { session, callKey } = input;
    try {
      return await this.#dependencies.store.turns.askOnce({ session, callKey, key, attempt: begun.attempt });
    } catch (error) {
      // The tool may take it for an error like any other.
      if (error instanceof AttemptReplaced) this.#replaced(error);
      throw error;
    }
  }

  #warn(thrown: unknown): void {
    const { tool } = this.#call;
    const text = `cancelling tool ${tool.name} failed`;
    const isHidden = hidesTexts(this.#dependencies, tool.durable);
    loggerOf(this.#dependencies, this.#tried()).warn(isHidden ? text : `${text}: ${thrownMessage(thrown)}`);
  }

  #tried(): TriedCall {
    const { input, begun, tool } = this.#call;
    return { input, begun, tool: tool.name, durable: tool.durable };
  }
}
