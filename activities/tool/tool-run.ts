import { AsyncResource } from 'node:async_hooks';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { isAnySensitive } from '../../src/approvals/sensitive.ts';
import { hasCode } from '../../src/contract/error.ts';
import { transcriptView } from '../../src/flows/transcript.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import type { CallActions } from '../../src/store/turns/call-store.ts';
import { agentOfTool, type BaseTool } from '../../src/tools/base-tool.ts';
import {
  type Asked,
  CallQuestions,
  type HeldAnswer,
  type HeldQuestion,
} from '../../src/tools/call-questions.ts';
import { type Context, questionsOf } from '../../src/tools/context.ts';
import type { OnUnknownOutcome } from '../../src/tools/durable-options.ts';
import type { CallInit, ContextInit } from '../../src/tools/invocation-context.ts';
import { keptFromRunning } from '../../src/tools/tool-gate.ts';
import type { RecordedAnswers } from '../approvals/call-answers.ts';
import { QuestionHolder } from '../approvals/question-holder.ts';
import { type Attempt, endable } from '../attempt.ts';
import { attemptServices } from '../context-services.ts';
import { afterTime } from '../deadline.ts';
import { type ActivityDependencies, currentTranscript } from '../dependencies.ts';
import { pluginsOf } from '../deployment.ts';
import { JobOfCall } from '../jobs/job-of-call.ts';
import { JobOutcomes } from '../jobs/job-outcomes.ts';
import { CallReport } from '../telemetry/reports.ts';
import { beforeRun, plannedArguments } from './begin-call.ts';
import { type CallCredentials, type ContextParts, callContext, contextInitOf } from './call-context.ts';
import { LiveChunks } from './live-chunks.ts';
import type { CallOutcome } from './settle-call.ts';
import { type AskedPerson, attemptTool, type RunOfJob } from './tool-attempt.ts';
import { type CalledTool, ToolCallbacks } from './tool-callbacks.ts';
import { ToolCancellation } from './tool-cancellation.ts';
import {
  hidesTexts,
  loggerOf,
  neverAnswered,
  type StartedCall,
  type TriedCall,
  toolChanged,
  unknownOutcome,
} from './tool-failure.ts';

/** Under which a call's `once` results say that its before-callbacks needn't be asked again. */
export const PREPARED = 'holdfast:prepared';

/** A call that has begun and whose tool was found. */
export interface CallToRun {
  input: ToolCallInput;
  begun: StartedCall;
  agent: LlmAgent;
  tool: BaseTool;
  callbacks: ToolCallbacks;
  /** The parts of all contexts of the call. */
  init: ContextInit;
  answers: RecordedAnswers;
  credentials: CallCredentials;
  report: CallReport;
  /** Undefined for a call that can have no job. */
  job: JobOfCall | undefined;
}

/** The attempt of a call: arguments, contexts, credentials, cancellation; and the runs of its tool. */
export class ToolRun {
  readonly call: CallToRun;
  /** The attempt, which also ends where another one has taken its place. */
  readonly current: Attempt;
  /** The tool's, as before-callbacks have changed them. */
  readonly args: Record<string, unknown>;
  readonly jobOutcomes: JobOutcomes;
  readonly chunks: LiveChunks | undefined;
  readonly #dependencies: ActivityDependencies;
  /** Ends the attempt: another one has taken its place. */
  readonly #replaced: (reason: Error) => void;
  /** Values of `once` that the call has by now. */
  readonly #once: Map<string, unknown>;
  /** Values of `once` that are being recorded. */
  readonly #recording = new Set<Promise<unknown>>();
  readonly #cancellation: ToolCancellation;
  readonly #init: CallInit;
  /** Actions of before-callbacks, from the plan of the call or from before a run that goes on at once. */
  #before: CallActions | undefined;
  #isPrepared: boolean;
  readonly #began = performance.now();

  constructor(dependencies: ActivityDependencies, current: Attempt, call: CallToRun) {
    this.#dependencies = dependencies;
    const { current: own, end } = endable(current);
    this.current = own;
    this.#replaced = end;
    this.call = call;
    const { input, tool, begun, answers } = call;
    this.#once = new Map(Object.entries(begun.once));
    this.#isPrepared = input.prepared === true || this.#once.get(PREPARED) === true;
    const isAsIs = this.#isPrepared || answers.isEdited;
    this.#before = begun.prepared;
    const planned = plannedArguments(input, begun);
    // People have seen them as the store has them.
    const shown = answers.isEmpty ? planned : asStored(planned);
    this.args = structuredClone(isAsIs ? answers.args : shown);
    this.#cancellation = new ToolCancellation(tool, input.callId, (thrown) => this.#warn(thrown));
    this.#init = this.#callInit();
    this.jobOutcomes = new JobOutcomes(dependencies, own, call, (actions) => ({
      tool,
      args: this.args,
      context: callContext(call.init, this.#init, own.signal, actions),
    }));
    this.chunks = this.#liveChunks();
  }

  static async open(
    dependencies: ActivityDependencies,
    current: Attempt,
    call: Pick<CallToRun, 'input' | 'begun' | 'agent' | 'tool' | 'answers' | 'credentials'>,
  ): Promise<ToolRun> {
    const { input, begun, agent, tool, answers, credentials } = call;
    const { session, callId, handedOn, ran } = input;
    const { names, invocationId } = begun;
    const plugins = pluginsOf(dependencies.deployment, names.app);
    const callbacks = callId === '' ? ToolCallbacks.none(agent) : new ToolCallbacks(agent, plugins);
    const { signal } = current;
    const services = { ...attemptServices(dependencies, names, input, signal, tool), credentials };
    const parts: ContextParts = { ...begun, agent, abortSignal: signal, transfers: handedOn, services };
    if (!callbacks.isEmpty || tool.durable.needsTranscript) {
      const transcript = await beforeRun(dependencies, call, () =>
        currentTranscript(dependencies, session, names),
      );
      parts.transcript = transcriptView(transcript, invocationId);
    }
    const hasJob = ran === undefined && !current.isInline && callId !== '';
    return new ToolRun(dependencies, current, {
      ...call,
      callbacks,
      init: contextInitOf(parts),
      report: new CallReport(dependencies.telemetry, input, tool, begun),
      job: hasJob
        ? new JobOfCall(dependencies, { input, begun, tool, answers }, await dependencies.store.now())
        : undefined,
    });
  }

  /** The reason why the call must not run. */
  async problem(): Promise<Error | undefined> {
    const { tool, answers } = this.call;
    if (answers.isEmpty) return undefined;
    if (await answers.hasChanged(tool)) return toolChanged();
    if (answers.mustNotRepeat(tool)) return unknownOutcome();
    const { unanswered } = answers;
    return unanswered && neverAnswered(unanswered.kind === 'input' ? 'input' : 'credential');
  }

  /** An approval that the tool has asked for itself is for one start, too: its own options are those of ordinary calls. */
  get isForOneStart(): boolean {
    const { tool, answers } = this.call;
    return answers.isApproved && tool.gate?.confirmation === undefined;
  }

  /** By what the call has recorded until now: this attempt may have sent what its beginning knew nothing of. */
  get onUnknown(): OnUnknownOutcome {
    const { tool } = this.call;
    const { onUnknownOutcome } = tool.durable;
    if (tool.goesOn(Object.fromEntries(this.#once))) return 'retry';
    return this.isForOneStart && onUnknownOutcome === 'retry' ? 'fail' : onUnknownOutcome;
  }

  /** Another run does no more than the first one. An agent's own calls are checked one by one. */
  get isHarmless(): boolean {
    const { tool } = this.call;
    return agentOfTool(tool) !== undefined || (tool.durable.idempotent && this.onUnknown === 'retry');
  }

  /** The actions from before the tool runs. */
  get before(): CallActions | undefined {
    return this.#before;
  }

  /** The labels of the tool's failures in metrics and logs. */
  get tried(): TriedCall {
    const { input, begun, tool } = this.call;
    return { input, begun, tool: tool.name, durable: tool.durable };
  }

  /** Milliseconds of the tool's time that this attempt has not used up. */
  get timeLeft(): number {
    return this.call.tool.durable.timeout - (performance.now() - this.#began);
  }

  /** The call as callbacks see it that can't ask a person. */
  called(): CalledTool {
    return { tool: this.call.tool, args: this.args, context: this.#context(this.current.signal) };
  }

  /** The call as its tool, and the callbacks before it, see it. */
  asking(signal = this.current.signal): CalledTool {
    const { tool, answers, job } = this.call;
    const questions = new CallQuestions({
      inputs: answers.inputs,
      credentials: this.call.credentials,
      wanted: tool.gate?.credential,
      passed: answers.hasPassed(tool) ? tool.gate : undefined,
      terms: answers.terms,
      hold: job && this.#hold(),
    });
    return { tool, args: this.args, context: this.#context(signal, questions) };
  }

  /** For a call whose tool is an agent: what is to be asked before it runs, or why it must not. */
  async gate(): Promise<{ asked: Asked | undefined; kept: CallOutcome | undefined }> {
    const { tool, args, context } = this.asking();
    const response = await keptFromRunning(tool, { args, toolContext: context });
    return { asked: questionsOf(context).asked, kept: response && { response, failed: true, actions: {} } };
  }

  /** @returns what is to be asked for: the tool's own credential comes before its run. */
  async openCredentials(): Promise<Asked | undefined> {
    const { tool, answers } = this.call;
    const wanted = tool.gate?.credential;
    if (answers.isEmpty && wanted === undefined) return undefined;
    return await this.beforeRun(async () => {
      await this.call.credentials.openGiven(answers.credentialRefs.keys());
      if (wanted === undefined || (await this.call.credentials.open(wanted))) return undefined;
      return await this.call.credentials.asks(wanted);
    });
  }

  /** A failure here has started nothing: the next attempt finds no unknown outcome. */
  async beforeRun<T>(work: () => Promise<T>): Promise<T> {
    return await beforeRun(this.#dependencies, this.call, work);
  }

  /** Waits until the next attempt can know all events so far: a tool may be out of time while the store is away. */
  async recorded(): Promise<void> {
    await Promise.allSettled(this.#recording);
  }

  /** Runs the tool; again at once where it asks for a credential that is there. */
  async run(): Promise<CallOutcome | AskedPerson | RunOfJob> {
    const outcome = await this.#run();
    if (!('asked' in outcome) || outcome.asked.kind !== 'credential') return outcome;
    const { asked } = outcome;
    const isRefused = this.call.credentials.get(asked.authConfig.credentialKey) !== undefined;
    const isThere = !isRefused && (await this.call.credentials.open(asked));
    if (!isThere || !outcome.prepared) return { ...outcome, asked: await this.call.credentials.asks(asked) };
    this.#isPrepared = true;
    const stateDelta = { ...this.#before?.stateDelta, ...outcome.stateDelta };
    this.#before = { ...this.#before, stateDelta };
    return await this.run();
  }

  async #run(): Promise<CallOutcome | AskedPerson | RunOfJob> {
    // A cancelled call needn't run.
    if (this.current.signal.aborted) throw this.current.aborted();
    const { tool, callbacks, report, answers, job } = this.call;
    const timeout = afterTime(job?.timeLeft ?? tool.durable.timeout);
    const ends = [this.current.signal, timeout.signal];
    // The worker that fires the signal is in no activity's context; handlers are.
    const tell = AsyncResource.bind(() => {
      if (!this.current.signal.aborted || !this.current.isRetried()) this.#cancellation.tell();
    });
    if (tool.isLongRunning && job !== undefined && !tool.supportsCancellation()) {
      this.#cancellation.onCancel(() => this.jobOutcomes.runCancelHook(job));
    }
    // Its own attempt before this one has left them, and the next beat would replace them.
    if (job?.init.details !== undefined) this.current.heartbeat(job.init.details);
    // This doesn't listen to the combined signal, which costs nothing without a listener.
    for (const end of ends) end.addEventListener('abort', tell);
    const { chunks } = this;
    try {
      return await attemptTool({
        call: this.asking(AbortSignal.any(ends)),
        callbacks,
        prepared: this.#isPrepared,
        approvedArgs: answers.isApproved ? answers.args : undefined,
        hasPassed: answers.hasPassed(tool),
        current: this.current,
        timeout: timeout.signal,
        cancellation: this.#cancellation,
        opensJob: () => this.beforeRun(async () => await job?.begun()),
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

  /** Bound to this activity: a server may ask in the context of another one, on a connection that both use. */
  #hold(): (question: HeldQuestion) => Promise<HeldAnswer> {
    const call = { ...this.call, current: this.current };
    const run = { args: this.args, timeLeft: () => this.timeLeft };
    const holder = new QuestionHolder(this.#dependencies, call, run);
    return AsyncResource.bind((question: HeldQuestion) => holder.hold(question));
  }

  #context(signal: AbortSignal, questions?: CallQuestions): Context {
    const { init, tool, answers } = this.call;
    const toolConfirmation = answers.confirmation(tool);
    return callContext(
      toolConfirmation === undefined ? init : { ...init, toolConfirmation },
      questions === undefined ? this.#init : { ...this.#init, questions },
      signal,
      this.#before,
    );
  }

  #liveChunks(): LiveChunks | undefined {
    const { tool, input, begun } = this.call;
    if (isAnySensitive(tool.durable.sensitive)) return undefined;
    const { session, runKey, callKey } = input;
    const place = { session, runKey, callKey, tool: tool.name, attempt: begun.attempt };
    return new LiveChunks(this.#dependencies.store.live, place);
  }

  #callInit(): CallInit {
    const { input, begun, tool, job } = this.call;
    const { session, callKey, callId } = input;
    return {
      callId,
      callKey,
      session,
      attempt: begun.attempt,
      once: {
        get: async (key) => this.#once.get(key) ?? (await this.#askOnce(key)),
        put: async (key, value) => {
          const recording = this.#recordOnce(key, value);
          this.#recording.add(recording);
          return await recording.finally(() => this.#recording.delete(recording));
        },
      },
      // Temporal shows the details of a pending activity as they are.
      heartbeat: (details) =>
        this.current.heartbeat(isAnySensitive(tool.durable.sensitive) ? undefined : details),
      onCancel: (handler) => this.#cancellation.onCancel(handler),
      ...(job === undefined ? {} : { job: job.init }),
    };
  }

  async #recordOnce(key: string, value: unknown): Promise<unknown> {
    const { session, callKey } = this.call.input;
    const first = await this.#dependencies.store.turns.recordOnce({ session, callKey, key, value });
    this.#once.set(key, first);
    return first;
  }

  /** Right before an action: an attempt that stood still doesn't do what another one has done, or is to do. */
  async #askOnce(key: string): Promise<unknown> {
    const { input, begun } = this.call;
    const { session, callKey } = input;
    try {
      return await this.#dependencies.store.turns.askOnce({ session, callKey, key, attempt: begun.attempt });
    } catch (error) {
      // The tool may take it for an error like any other.
      if (hasCode(error, 'HOLDFAST_ATTEMPT_REPLACED')) this.#replaced(error);
      throw error;
    }
  }

  #warn(thrown: unknown): void {
    const { tool } = this.call;
    const text = `cancelling tool ${tool.name} failed`;
    const isHidden = hidesTexts(this.#dependencies, tool.durable);
    loggerOf(this.#dependencies, this.tried).warn(isHidden ? text : `${text}: ${thrownMessage(thrown)}`);
  }
}
