import type { LlmAgent } from '../src/agents/llm-agent.ts';
import type { Content } from '../src/events/content.ts';
import { createEventActions } from '../src/events/event-actions.ts';
import { buildRequest, InstructionFailed } from '../src/flows/build-request.ts';
import { callIdsOf } from '../src/flows/contents.ts';
import { MissingTemplateValue } from '../src/flows/fill-template.ts';
import {
  type AskedStep,
  endWithResponses,
  type StepResponse,
  stepFromError,
  stepFromResponse,
} from '../src/flows/step-response.ts';
import type { LlmResponse } from '../src/models/llm-response.ts';
import { ModelError, toModelError } from '../src/models/model-errors.ts';
import type { CallModelInput, StepOutcome } from '../src/protocol/step.ts';
import type { OpenedStep, StoredEvent } from '../src/store/store.ts';
import { Unstorable } from '../src/store/store-errors.ts';
import { thrownMessage } from '../src/tools/thrown-message.ts';
import { type Attempt, attempt, isLastRefusal, retryLater } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { agentOf } from './deployment.ts';
import { NotDeployedHere } from './not-deployed-here.ts';
import { whicheverComesFirst } from './race.ts';

type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

/** `holdfast.callModel`: one model step, from the transcript to its recorded outcome. */
export function callModel(
  dependencies: ActivityDependencies,
): (input: CallModelInput) => Promise<StepOutcome> {
  return (input) =>
    attempt(async (current) => {
      const outcome = await new ModelStep(dependencies, input, current).run();
      const first = dependencies.searchAttributes && input.step === 1;
      return first ? { ...outcome, searchAttributes: true } : outcome;
    });
}

class ModelStep {
  readonly #dependencies: ActivityDependencies;
  readonly #input: CallModelInput;
  readonly #current: Attempt;

  constructor(dependencies: ActivityDependencies, input: CallModelInput, current: Attempt) {
    this.#dependencies = dependencies;
    this.#input = input;
    this.#current = current;
  }

  async run(): Promise<StepOutcome> {
    const { store, transcripts } = this.#dependencies;
    const { message, ...position } = this.#input;
    const knownSeq = transcripts.knownSeq(position.session);
    const opened = await store.openStep({
      ...position,
      knownSeq,
      ...(message === undefined ? {} : { message: this.#messageEvent(message) }),
    });
    if (opened.kind === 'finished') {
      return { ...opened, v: position.v, agent: opened.agent ?? position.agent ?? '' };
    }
    if (opened.kind === 'recorded') return opened.outcome;

    const step = await this.#answer(opened, knownSeq);
    const commit = (response: StepResponse) =>
      store.commitStep({ ...position, session: opened.session, ...response });
    try {
      return (await commit(step)).outcome;
    } catch (error) {
      if (!(error instanceof Unstorable)) throw error;
      const asked = this.#asked(opened, step.agent, step.outcome.model ?? '');
      return (await commit(stepFromError(asked, error, 1))).outcome;
    }
  }

  #asked(opened: OpenStep, agent: string, model: string): AskedStep {
    const { invocationId, runKey, step } = this.#input;
    return { session: opened.session, invocationId, runKey, step, agent, model, usage: opened.usage };
  }

  async #answer(opened: OpenStep, knownSeq: number): Promise<StepResponse> {
    const { deployment } = this.#dependencies;
    const name = this.#input.agent ?? opened.lastAgent ?? deployment.rootAgent;
    let agent: LlmAgent;
    try {
      agent = agentOf(deployment, name);
    } catch (error) {
      if (!(error instanceof NotDeployedHere) || !isLastRefusal()) throw error;
      return stepFromError(this.#asked(opened, name, ''), error);
    }
    const transcript = await this.#transcript(opened, knownSeq);
    const asked = this.#asked(opened, agent.name, agent.canonicalModel.model);
    const last = transcript.at(-1);
    if (last?.kind === 'responses' && last.runKey === asked.runKey && last.event.actions.skipSummarization) {
      return endWithResponses(asked);
    }
    let response: LlmResponse;
    try {
      response = await this.#ask(agent, transcript, opened);
    } catch (error) {
      if (this.#current.signal.aborted) throw this.#current.aborted();
      return await this.#fail(asked, agent, opened, failureOf(error));
    }
    try {
      return stepFromResponse(asked, agent, response, callIdsOf(transcript));
    } catch (error) {
      // Asking again would be paid again, for an answer of the same kind.
      const message = `the model's response can't be used: ${thrownMessage(error)}`;
      return stepFromError(asked, { code: 'HOLDFAST_MODEL_RESPONSE', message }, 1);
    }
  }

  async #transcript(opened: OpenStep, knownSeq: number): Promise<readonly StoredEvent[]> {
    const { store, transcripts } = this.#dependencies;
    return (
      transcripts.extend(opened.session, knownSeq, opened.events) ??
      (await store.readEvents({ ...opened.names, limit: Number.MAX_SAFE_INTEGER }))
    );
  }

  /** Neither the instruction nor the model holds the attempt where they don't heed their signal. */
  async #ask(agent: LlmAgent, transcript: readonly StoredEvent[], opened: OpenStep): Promise<LlmResponse> {
    const { modelTimeout } = agent.durable;
    const timeout = AbortSignal.timeout(modelTimeout);
    const signal = AbortSignal.any([this.#current.signal, timeout]);
    const message = `no answer within ${modelTimeout} ms (modelTimeout of the agent ${agent.name})`;
    const work = async () => {
      const { invocationId } = this.#input;
      const { names, state } = opened;
      const request = await buildRequest(agent, transcript, { invocationId, names, state });
      const stream = this.#input.runConfig?.streamingMode === 'sse';
      let last: LlmResponse | undefined;
      for await (const response of agent.canonicalModel.generateContentAsync(request, stream, signal)) {
        if (!response.partial) last = response;
      }
      if (last !== undefined) return last;
      const empty = `the model ${request.model} ended its stream without a response`;
      throw new ModelError({ kind: 'network', message: empty });
    };
    return await whicheverComesFirst(work(), [
      [this.#current.signal, this.#current.aborted],
      [timeout, () => new ModelError({ kind: 'timeout', message })],
    ]);
  }

  /** The last failure that counts ends the turn, its events kept. */
  async #fail(
    asked: AskedStep,
    agent: LlmAgent,
    opened: OpenStep,
    failure: StepFailure,
  ): Promise<StepResponse> {
    const { store, logger } = this.#dependencies;
    const { code, message, retryable, counts, retryAfterMs, modelCalls } = failure;
    if (!retryable) return stepFromError(asked, failure, modelCalls);
    if (counts) {
      const failures = await store.recordStepFailure({ ...asked, error: message });
      logger.warn(`model step failed: ${message}`, { agent: agent.name, model: asked.model, failures });
      if (failures >= agent.durable.modelRetry.maximumAttempts)
        return stepFromError(asked, failure, modelCalls);
    }
    throw retryLater(code, message, {
      delay: retryAfterMs ?? delayOf(agent, opened.attempt),
      benign: !counts,
    });
  }

  #messageEvent(message: string | Content) {
    const { invocationId, stateDelta } = this.#input;
    const content: Content = typeof message === 'string' ? { parts: [{ text: message }] } : message;
    return {
      invocationId,
      author: 'user',
      content: { ...content, role: 'user' },
      actions: createEventActions({ stateDelta: stateDelta ?? {} }),
    };
  }
}

interface StepFailure {
  code: string;
  message: string;
  retryable: boolean;
  /** A failure of the provider's own counts; being told to wait doesn't. */
  counts: boolean;
  retryAfterMs?: number | undefined;
  /** Calls of the model that the failure stands for. */
  modelCalls: number;
}

function failureOf(error: unknown): StepFailure {
  if (error instanceof MissingTemplateValue || error instanceof InstructionFailed) {
    const { code, message, retryable } = error;
    return { code, message, retryable, counts: true, modelCalls: 0 };
  }
  const { code, message, retryable, countsAsFailure, retryAfterMs } = toModelError(error);
  return { code, message, retryable, counts: countsAsFailure, retryAfterMs, modelCalls: 1 };
}

function delayOf({ durable: { modelRetry } }: LlmAgent, attempt: number): number {
  const { initialInterval, backoffCoefficient, maximumInterval } = modelRetry;
  return Math.min(initialInterval * backoffCoefficient ** (attempt - 1), maximumInterval);
}
