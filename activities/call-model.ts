import { type AppSettings, runConfigOf } from '../src/agents/app-settings.ts';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import type { Content } from '../src/events/content.ts';
import { createEventActions } from '../src/events/event-actions.ts';
import { exceededBudget, exceededLlmCalls, missingPrice, timeLeft } from '../src/flows/budgets.ts';
import {
  type AskedStep,
  endWithResponses,
  type StepResponse,
  stepFromError,
  stepFromResponse,
} from '../src/flows/step-response.ts';
import type { Transcript } from '../src/flows/transcript.ts';
import type { KnownTranscript } from '../src/flows/transcript-cache.ts';
import type { LlmResponse } from '../src/models/llm-response.ts';
import { messageDigest } from '../src/protocol/message.ts';
import type { CallModelInput, FirstStep, StepOutcome } from '../src/protocol/step.ts';
import type { TurnError } from '../src/protocol/turn.ts';
import type { OpenedStep } from '../src/store/store.ts';
import { MessageConflict, Unstorable } from '../src/store/store-errors.ts';
import { thrownMessage } from '../src/tools/thrown-message.ts';
import { askModel, delayOf, failureOf, OutOfTime, type StepFailure } from './ask-model.ts';
import { type Attempt, attempt, isLastRefusal, retryLater } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { agentOf, rootAgentOf, settingsOf } from './deployment.ts';
import { callLogger, reportUnexpected } from './logging.ts';
import { NotDeployedHere } from './not-deployed-here.ts';
import { type OpenedUnder, openStep } from './open-step.ts';

type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

/** `holdfast.callModel`: one model step, from the transcript to its recorded outcome. */
export function callModel(
  dependencies: ActivityDependencies,
): (input: CallModelInput) => Promise<StepOutcome> {
  return (input) => {
    const { identity, invocationId, step, agent } = input;
    const place = { app: identity?.app, sessionId: identity?.sessionId, invocationId, step, agent };
    return attempt(
      (current) => new ModelStep(dependencies, input, current).run(),
      reportUnexpected(dependencies, place),
    );
  };
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
    const { message, stateDelta, ...position } = this.#input;
    const known = transcripts.known(position);
    let opening: OpenedUnder;
    try {
      opening = await openStep(store, {
        ...position,
        ...known.ask,
        ...(message === undefined
          ? {}
          : { message: this.#messageEvent(message), messageDigest: messageDigest(message, stateDelta) }),
      });
    } catch (error) {
      if (error instanceof MessageConflict) return this.#refused(error);
      throw error;
    }
    const { opened, fence } = opening;
    const told = this.#told(opening);
    if (opened.kind === 'finished') {
      const { inbox: _inbox, ...finished } = opened;
      return { ...finished, v: position.v, agent: opened.agent ?? position.agent ?? '', ...told };
    }
    if (opened.kind === 'recorded') return { ...opened.outcome, ...told };

    const step = this.#concealed(await this.#answer(opened, known));
    const commit = (response: StepResponse) =>
      store.commitStep({ ...position, fence, session: opened.session, ...response });
    try {
      return { ...(await commit(step)).outcome, ...told };
    } catch (error) {
      if (!(error instanceof Unstorable)) throw error;
      const asked = this.#asked(opened, step.agent, step.outcome.model ?? '');
      return { ...(await commit(stepFromError(asked, error, 1))).outcome, ...told };
    }
  }

  /** What the first step tells the workflow beside its outcome. */
  #told({ opened, fence }: OpenedUnder): FirstStep {
    const { identity, step, fence: own } = this.#input;
    if (step !== 1 || identity === undefined) return {};
    const { searchAttributes, deployment } = this.#dependencies;
    const left =
      opened.kind === 'finished'
        ? undefined
        : timeLeft(settingsOf(deployment, identity.app), {
            age: opened.age,
            sessionTime: opened.sessionUsage.time,
          });
    return {
      ...(searchAttributes ? { searchAttributes: true } : {}),
      ...(opened.inbox.length > 0 ? { inbox: opened.inbox } : {}),
      ...(left === undefined ? {} : { timeLeft: left }),
      ...(fence.startedAt === own.startedAt ? {} : { startedAt: fence.startedAt }),
    };
  }

  /** An invocation that another one's name was given to: nothing of it is in the store. */
  #refused({ code, message }: MessageConflict): StepOutcome {
    const usage = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };
    return {
      v: this.#input.v,
      kind: 'failed',
      session: '',
      seq: 0,
      from: 0,
      agent: this.#input.agent ?? '',
      outcome: { status: 'failed', error: { code, message }, usage },
    };
  }

  #asked(opened: OpenStep, agent: string, model: string): AskedStep {
    const { invocationId, runKey, step } = this.#input;
    const { session, usage } = opened;
    const { prices } = this.#settings(opened);
    return { session, invocationId, runKey, step, agent, model, usage, prices };
  }

  #settings({ names }: OpenStep): AppSettings {
    return settingsOf(this.#dependencies.deployment, names.app);
  }

  async #answer(opened: OpenStep, known: KnownTranscript): Promise<StepResponse> {
    const { deployment, store, transcripts } = this.#dependencies;
    const name =
      this.#input.agent ??
      opened.asked.agent ??
      opened.lastAgent ??
      rootAgentOf(deployment, opened.names.app);
    let agent: LlmAgent;
    try {
      agent = agentOf(deployment, name);
    } catch (error) {
      if (!(error instanceof NotDeployedHere) || !isLastRefusal()) throw error;
      return stepFromError(this.#asked(opened, name, ''), error);
    }
    const transcript = await transcripts.read(known, opened, () =>
      store.readEvents({ ...opened.names, limit: Number.MAX_SAFE_INTEGER }),
    );
    const asked = this.#asked(opened, agent.name, agent.canonicalModel.model);
    const { last } = transcript;
    if (
      last?.kind === 'responses' &&
      last.event.invocationId === asked.invocationId &&
      last.event.actions.skipSummarization
    ) {
      return endWithResponses(asked);
    }
    const refusal = this.#usedUp(opened, asked);
    if (refusal !== undefined) return stepFromError(asked, refusal);
    let response: LlmResponse;
    try {
      response = await this.#ask(agent, transcript, opened);
    } catch (error) {
      if (error instanceof OutOfTime) return stepFromError(asked, error, 1);
      if (this.#current.signal.aborted) throw this.#current.aborted();
      return await this.#fail(asked, agent, opened, failureOf(error));
    }
    try {
      return stepFromResponse(asked, agent, response, transcript.callIds);
    } catch (error) {
      // Asking again would be paid again, for an answer of the same kind.
      const message = `the model's response can't be used: ${thrownMessage(error)}`;
      return stepFromError(asked, { code: 'HOLDFAST_MODEL_RESPONSE', message }, 1);
    }
  }

  /** Why the model must not be asked again. */
  #usedUp(opened: OpenStep, { agent, model }: AskedStep): TurnError | undefined {
    const settings = this.#settings(opened);
    return (
      exceededLlmCalls(this.#runConfig(opened), this.#input.step - 1) ??
      exceededBudget(settings, opened) ??
      missingPrice(settings, agent, model)
    );
  }

  #runConfig(opened: OpenStep) {
    return runConfigOf(this.#settings(opened), this.#input.runConfig ?? opened.asked.runConfig);
  }

  #ask(agent: LlmAgent, transcript: Transcript, opened: OpenStep): Promise<LlmResponse> {
    const { names, state, age, sessionUsage } = opened;
    return askModel({
      agent,
      transcript,
      context: { invocationId: this.#input.invocationId, names, state },
      stream: this.#runConfig(opened).streamingMode === 'sse',
      timeLeft: timeLeft(this.#settings(opened), { age, sessionTime: sessionUsage.time }),
      current: this.#current,
    });
  }

  /** The last failure that counts ends the turn, its events kept. */
  async #fail(
    asked: AskedStep,
    agent: LlmAgent,
    opened: OpenStep,
    failure: StepFailure,
  ): Promise<StepResponse> {
    const { store, conceal } = this.#dependencies;
    const { code, message, retryable, counts, retryAfterMs, modelCalls } = failure;
    if (!retryable) return stepFromError(asked, failure, modelCalls);
    const failures = await store.recordStepFailure({ ...asked, error: message, counts });
    const text = conceal ? `model step failed: ${code}` : `model step failed: ${message}`;
    const { app, sessionId } = opened.names;
    const { invocationId, step } = asked;
    callLogger(this.#dependencies, { app, sessionId, invocationId, step, agent: agent.name }).warn(text, {
      model: asked.model,
      failures,
    });
    if (counts && failures >= agent.durable.modelRetry.maximumAttempts) {
      return stepFromError(asked, failure, modelCalls);
    }
    throw retryLater(code, conceal ? text : message, {
      delay: retryAfterMs ?? delayOf(agent, opened.attempt),
      benign: !counts,
    });
  }

  /** The end of a turn is told in a failure's message, which a codec doesn't encode. */
  #concealed(step: StepResponse): StepResponse {
    const { ending, outcome } = step;
    if (!this.#dependencies.conceal || ending?.error === undefined || outcome.kind === 'calls') return step;
    const concealed = { ...ending, error: { ...ending.error, concealed: true as const } };
    return { ...step, ending: concealed, outcome: { ...outcome, outcome: concealed } };
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
