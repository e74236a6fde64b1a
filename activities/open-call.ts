import { AsyncResource } from 'node:async_hooks';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { TOOL_FAILED } from '../src/protocol/names.ts';
import type { ToolCallInput } from '../src/protocol/step.ts';
import type { BaseTool } from '../src/tools/base-tool.ts';
import type { CallInit, ContextInit } from '../src/tools/context-init.ts';
import { thrownMessage } from '../src/tools/thrown-message.ts';
import { afterTime } from './after-time.ts';
import type { Attempt } from './attempt.ts';
import { callContext } from './call-context.ts';
import { hidesTexts, loggerOf, retryUnlessSpent, type StartedCall, type TriedCall } from './call-retry.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { type CallOutcome, LEAST_CALLBACK_TIME, outcomeOfFailure } from './failed-call.ts';
import { LiveChunks } from './live-chunks.ts';
import type { CallReport } from './telemetry/call-report.ts';
import { attemptTool } from './tool-attempt.ts';
import type { ToolCallbacks } from './tool-callbacks.ts';
import { ToolCancellation } from './tool-cancellation.ts';
import { isToolTimeout, recordedFailure, storeErrorIn, UnknownOutcome } from './tool-failure.ts';

export interface CallToRun {
  input: ToolCallInput;
  begun: StartedCall;
  agent: LlmAgent;
  tool: BaseTool;
  callbacks: ToolCallbacks;
  /** Of all contexts of the call. */
  init: ContextInit;
  report: CallReport;
}

/** A call that has begun and whose tool is there: from its attempt to what it is settled with. */
export class OpenCall {
  readonly #dependencies: ActivityDependencies;
  readonly #current: Attempt;
  readonly #call: CallToRun;
  readonly #cancellation: ToolCancellation;
  /** The tool's, as before-callbacks have changed them. */
  readonly #args: Record<string, unknown>;
  readonly #init: CallInit;
  readonly #began = performance.now();

  constructor(dependencies: ActivityDependencies, current: Attempt, call: CallToRun) {
    this.#dependencies = dependencies;
    this.#current = current;
    this.#call = call;
    const { input, tool, begun } = call;
    this.#args = structuredClone('value' in input.args ? input.args.value : (begun.args ?? {}));
    this.#cancellation = new ToolCancellation(tool, input.callId, (thrown) => this.#warn(thrown));
    this.#init = this.#callInit();
  }

  /** @throws the failure of an attempt that is followed by another one. */
  async outcome(): Promise<CallOutcome> {
    const { begun, tool } = this.#call;
    if (begun.failures >= tool.durable.retry.maximumAttempts) {
      // The worker was lost before callbacks had answered what was the last failure.
      return await this.#failedForGood(recordedFailure(begun.lastError ?? 'it has failed'));
    }
    if (begun.unknown && tool.durable.onUnknownOutcome === 'fail') {
      return await this.#failedForGood(new UnknownOutcome());
    }
    const chunks = this.#liveChunks();
    try {
      const outcome = await this.#attempt(chunks);
      if (outcome.failed) chunks?.drop();
      else chunks?.end();
      return outcome;
    } catch (error) {
      chunks?.drop();
      if (this.#current.signal.aborted) throw this.#current.aborted();
      return await this.#fail(error);
    }
  }

  async #attempt(chunks: LiveChunks | undefined): Promise<CallOutcome> {
    // What is cancelled before it runs needn't.
    if (this.#current.signal.aborted) throw this.#current.aborted();
    const { tool, init, callbacks, report } = this.#call;
    const timeout = afterTime(tool.durable.timeout);
    const ends = [this.#current.signal, timeout.signal];
    const signal = AbortSignal.any(ends);
    // The worker that fires the signal is in no activity's context; handlers are.
    const tell = AsyncResource.bind(() => {
      if (!this.#current.signal.aborted || !this.#current.movesOn()) this.#cancellation.tell();
    });
    // Not on the signal of both, which costs nothing until somebody listens to it.
    for (const end of ends) end.addEventListener('abort', tell);
    try {
      return await attemptTool({
        call: { tool, args: this.#args, context: callContext(init, this.#init, signal) },
        callbacks,
        current: this.#current,
        timeout: timeout.signal,
        cancellation: this.#cancellation,
        onChunk: chunks && ((chunk) => chunks.add(chunk)),
        report,
      });
    } finally {
      for (const end of ends) end.removeEventListener('abort', tell);
      timeout.clear();
      this.#cancellation.close();
    }
  }

  async #fail(error: unknown): Promise<CallOutcome> {
    const storeError = storeErrorIn(error);
    if (storeError !== undefined) throw storeError;
    const { tool, report } = this.#call;
    const isLate = isToolTimeout(error);
    report.failed(isLate ? 'timeout' : TOOL_FAILED);
    if (isLate && tool.durable.onUnknownOutcome === 'fail') {
      return await this.#failedForGood(new UnknownOutcome());
    }
    await retryUnlessSpent(this.#dependencies, this.#tried(), error);
    return await this.#failedForGood(error);
  }

  #failedForGood(thrown: unknown): Promise<CallOutcome> {
    const { tool, init, callbacks } = this.#call;
    const context = callContext(init, this.#init, this.#current.signal);
    const left = tool.durable.timeout - (performance.now() - this.#began);
    return outcomeOfFailure(callbacks, {
      call: { tool, args: this.#args, context },
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
    return new LiveChunks(this.#dependencies.store, place);
  }

  #callInit(): CallInit {
    const { input, begun, tool } = this.#call;
    const { session, callKey, callId } = input;
    const once = new Map(Object.entries(begun.once));
    return {
      callId,
      callKey,
      attempt: begun.attempt,
      once: {
        get: (key) => once.get(key),
        put: async (key, value) => {
          const first = await this.#dependencies.store.recordOnce({ session, callKey, key, value });
          once.set(key, first);
          return first;
        },
      },
      // Temporal shows the details of a pending activity as they are.
      heartbeat: (details) => this.#current.heartbeat(tool.durable.sensitive === false ? details : undefined),
      onCancel: (handler) => this.#cancellation.onCancel(handler),
    };
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
