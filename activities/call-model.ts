import { type AppSettings, runConfigOf } from '../src/agents/app-settings.ts';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { exceededBudget, exceededLlmCalls, missingPrice, timeLeft } from '../src/flows/budgets.ts';
import {
  type AskedStep,
  endWithResponses,
  type StepResponse,
  stepFromError,
  stepFromResponse,
  usageOf,
} from '../src/flows/step-response.ts';
import type { Transcript } from '../src/flows/transcript.ts';
import type { KnownTranscript } from '../src/flows/transcript-cache.ts';
import type { LlmResponse } from '../src/models/llm-response.ts';
import type { CallModelInput, ChainFence, FirstStep, StepOutcome } from '../src/protocol/step.ts';
import type { InvocationOutcome, TurnError } from '../src/protocol/turn.ts';
import type { CommittedStep, OpenedStep, StepUsage } from '../src/store/store.ts';
import { MessageConflict, Unstorable } from '../src/store/store-errors.ts';
import { thrownMessage } from '../src/tools/thrown-message.ts';
import { askModel, delayOf, failureOf, OutOfTime, type StepFailure } from './ask-model.ts';
import { type Attempt, attempt, isLastRefusal, retryLater } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { agentOf, rootAgentOf, settingsOf } from './deployment.ts';
import { LiveText } from './live-text.ts';
import { type CallPlace, callLogger, reportUnexpected } from './logging.ts';
import { messageOf } from './message-event.ts';
import { NotDeployedHere } from './not-deployed-here.ts';
import { type OpenedUnder, openStep } from './open-step.ts';
import { StepReport } from './telemetry/step-report.ts';

const ONE_CALL = { modelCalls: 1, promptTokens: 0, outputTokens: 0, totalTokens: 0 };

type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

/** `holdfast.callModel`: one model step, from the transcript to its recorded outcome. */
export function callModel(
  dependencies: ActivityDependencies,
): (input: CallModelInput) => Promise<StepOutcome> {
  return (input) => {
    const { identity, invocationId, step, agent } = input;
    const place: CallPlace = {
      app: identity?.app,
      sessionId: identity?.sessionId,
      invocationId,
      step,
      agent,
    };
    return attempt(
      (current) => new ModelStep(dependencies, input, current, place).run(),
      reportUnexpected(dependencies, place),
    );
  };
}

class ModelStep {
  readonly #dependencies: ActivityDependencies;
  readonly #input: CallModelInput;
  readonly #current: Attempt;
  /** Where log lines say that they come from; filled in by what is found out. */
  readonly #place: CallPlace;
  readonly #report: StepReport;

  constructor(dependencies: ActivityDependencies, input: CallModelInput, current: Attempt, place: CallPlace) {
    this.#dependencies = dependencies;
    this.#input = input;
    this.#current = current;
    this.#place = place;
    this.#report = new StepReport(dependencies.telemetry, input);
  }

  async run(): Promise<StepOutcome> {
    const { store, transcripts } = this.#dependencies;
    const { message: _message, stateDelta: _delta, runConfig, ...position } = this.#input;
    const known = transcripts.known(position);
    let opening: OpenedUnder;
    try {
      opening = await openStep(store, {
        ...position,
        ...known.ask,
        ...messageOf(this.#input),
        asked: {
          ...(position.agent === undefined ? {} : { agent: position.agent }),
          ...(runConfig === undefined ? {} : { runConfig }),
        },
      });
    } catch (error) {
      const lost = error instanceof MessageConflict || error instanceof Unstorable;
      // The turn ends with this, and those that wait behind it go on.
      if (lost && this.#input.identity !== undefined) return this.#refused(error);
      throw error;
    }
    const { opened, fence } = opening;
    if (opened.kind === 'open') {
      this.#place.app = opened.names.app;
      this.#place.sessionId = opened.names.sessionId;
      this.#report.opened(opened);
    }
    const told = this.#told(opening);
    if (opened.kind === 'finished') {
      const { inbox: _inbox, ...finished } = opened;
      return { ...finished, v: position.v, agent: opened.agent ?? position.agent ?? '', ...told };
    }
    if (opened.kind === 'recorded') return { ...opened.outcome, ...told };

    const { runKey, step } = position;
    const live = new LiveText(store, { session: opened.session, runKey, step, attempt: opened.attempt });
    try {
      const committed = await this.#commit(await this.#answer(opened, known, live), opened, fence, live);
      return { ...committed.outcome, ...told };
    } catch (error) {
      live.drop();
      throw error;
    }
  }

  async #commit(
    answer: StepResponse,
    opened: OpenStep,
    fence: ChainFence,
    live: LiveText,
  ): Promise<CommittedStep> {
    const commit = (response: StepResponse) => {
      // Before the commit, so that who follows the turn has all text before its event.
      if (response.events.some(({ kind }) => kind === 'model')) live.end();
      else live.drop();
      const { invocationId, runKey, step } = this.#input;
      return this.#dependencies.store.commitStep({
        invocationId,
        runKey,
        step,
        fence,
        session: opened.session,
        ...response,
      });
    };
    let recorded = this.#concealed(answer);
    let committed: CommittedStep;
    try {
      committed = await commit(recorded);
    } catch (error) {
      if (!(error instanceof Unstorable)) throw error;
      const asked = this.#asked(opened, recorded.agent, recorded.outcome.model ?? '');
      recorded = stepFromError(asked, error, recorded.usage);
      committed = await commit(recorded);
    }
    if (committed.kind === 'committed') this.#report.recorded(opened, recorded);
    return committed;
  }

  /** What the first step tells the workflow beside its outcome. */
  #told({ opened, fence }: OpenedUnder): FirstStep {
    const { identity, step, fence: own } = this.#input;
    if (step !== 1 || identity === undefined) return {};
    const { searchAttributes, deployment, transcriptUrl } = this.#dependencies;
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
      ...(transcriptUrl === undefined ? {} : { transcript: transcriptUrl(identity) }),
    };
  }

  /** A message that can't be stored, or has another one's id: nothing of it is in the store. */
  #refused({ code, message }: MessageConflict | Unstorable): StepOutcome {
    const usage = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };
    const outcome: InvocationOutcome = { status: 'failed', error: { code, message }, usage };
    this.#report.refused(outcome);
    return {
      v: this.#input.v,
      kind: 'failed',
      session: '',
      seq: 0,
      from: 0,
      agent: this.#input.agent ?? '',
      outcome,
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

  async #answer(opened: OpenStep, known: KnownTranscript, live: LiveText): Promise<StepResponse> {
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
      if (!(error instanceof NotDeployedHere)) throw error;
      if (!isLastRefusal()) {
        // No model was asked.
        await this.#recordFailure(opened, error.message, false);
        throw error;
      }
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
      response = await this.#report.asking(agent, opened, transcript, () =>
        this.#ask(agent, transcript, opened, live),
      );
    } catch (error) {
      if (error instanceof OutOfTime) return stepFromError(asked, error, ONE_CALL);
      if (this.#current.signal.aborted) throw this.#current.aborted();
      return await this.#fail(asked, agent, opened, failureOf(error));
    }
    try {
      return stepFromResponse(asked, agent, response, transcript.callIds);
    } catch (error) {
      // Asking again would be paid again, for an answer of the same kind.
      const message = `the model's response can't be used: ${thrownMessage(error)}`;
      const failure = { code: 'HOLDFAST_MODEL_RESPONSE', message };
      this.#report.failed(opened, asked, failure.code);
      return stepFromError(asked, failure, usageOf(response, asked));
    }
  }

  /** Why the model must not be asked again. */
  #usedUp(opened: OpenStep, { agent, model }: AskedStep): TurnError | undefined {
    const settings = this.#settings(opened);
    return (
      exceededLlmCalls(this.#runConfig(opened), this.#input.step - 1) ??
      exceededBudget(settings, withLost(opened)) ??
      missingPrice(settings, agent, model)
    );
  }

  #runConfig(opened: OpenStep) {
    return runConfigOf(this.#settings(opened), this.#input.runConfig ?? opened.asked.runConfig);
  }

  #ask(agent: LlmAgent, transcript: Transcript, opened: OpenStep, live: LiveText): Promise<LlmResponse> {
    const { names, state, age, sessionUsage } = opened;
    const stream = this.#runConfig(opened).streamingMode === 'sse';
    const followed = stream && !agent.durable.sensitive;
    return askModel({
      agent,
      transcript,
      context: { invocationId: this.#input.invocationId, names, state },
      stream,
      onPartial: followed ? (response) => live.add(agent.name, response) : undefined,
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
    const { conceal } = this.#dependencies;
    const { code, message, retryable, counts, retryAfterMs, modelCalls } = failure;
    const usage = { ...ONE_CALL, modelCalls };
    this.#report.failed(opened, asked, code);
    if (!retryable) return stepFromError(asked, failure, usage);
    const failures = await this.#recordFailure(opened, message, counts);
    const text = conceal ? `model step failed: ${code}` : `model step failed: ${message}`;
    callLogger(this.#dependencies, { ...this.#place, agent: agent.name }).warn(text, {
      model: asked.model,
      failures,
    });
    if (counts && failures >= agent.durable.modelRetry.maximumAttempts) {
      return stepFromError(asked, failure, usage);
    }
    throw retryLater(code, conceal ? text : message, {
      delay: retryAfterMs ?? delayOf(agent, opened.attempt),
      benign: !counts,
    });
  }

  #recordFailure({ session, attempt: number }: OpenStep, error: string, counts: boolean): Promise<number> {
    const { runKey, step } = this.#input;
    const { store } = this.#dependencies;
    return store.recordStepFailure({ session, runKey, step, error, counts, attempt: number });
  }

  /** The end of a turn is told in a failure's message, which a codec doesn't encode. */
  #concealed(step: StepResponse): StepResponse {
    const { ending, outcome } = step;
    if (!this.#dependencies.conceal || ending?.error === undefined || outcome.kind === 'calls') return step;
    const concealed = { ...ending, error: { ...ending.error, concealed: true as const } };
    return { ...step, ending: concealed, outcome: { ...outcome, outcome: concealed } };
  }
}

/** Attempts that were lost may have been paid: a prompt that kills its worker must not be asked without end. */
function withLost({ usage, sessionUsage, age, lost }: OpenStep) {
  const counted = <T extends StepUsage>(of: T): T => ({
    ...of,
    modelCalls: of.modelCalls + lost,
    unknownCalls: (of.unknownCalls ?? 0) + lost,
  });
  return { usage: counted(usage), sessionUsage: counted(sessionUsage), age };
}
