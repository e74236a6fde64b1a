import { activityInfo } from '@temporalio/activity';
import { isLlmAgent } from '../../src/agents/llm-agent.ts';
import type { AppSettings } from '../../src/app/app-settings.ts';
import type { EventKind } from '../../src/contract/events.ts';
import { timeLeft } from '../../src/flows/budgets.ts';
import { type AskedStep, draftFromError, recordOf, type StepResponse } from '../../src/flows/step-draft.ts';
import { NO_USAGE } from '../../src/flows/step-usage.ts';
import type { KnownTranscript } from '../../src/flows/transcript-cache.ts';
import { completeWait } from '../../src/jobs/complete-wait.ts';
import type { AgentRef, ChainFence } from '../../src/protocol/agent-run.ts';
import { defined } from '../../src/protocol/json.ts';
import type { CallModelInput, FirstStep, StepOutcome, SupersededStep } from '../../src/protocol/step.ts';
import type { InvocationOutcome } from '../../src/protocol/turn.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import type { JobOfMessage } from '../../src/store/jobs/job-store.ts';
import { MessageConflict, NotARootSession, Unstorable } from '../../src/store/store-errors.ts';
import type { CommittedStep, OpenedStep } from '../../src/store/turns/step-store.ts';
import { type Actors, actorsOf, agentNamed, NotDeployedHere } from '../agents.ts';
import { withEndedGates } from '../approvals/request.ts';
import { type Attempt, isLastRefusal } from '../attempt.ts';
import { messageOfCall, parentOf } from '../children/agent-of-call.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { rootAgentOf, settingsOf, termsOfApp } from '../deployment.ts';
import { type CallPlace, callLogger } from '../logging.ts';
import { requesterOf } from '../messages/incoming-messages.ts';
import { StepReport } from '../telemetry/reports.ts';
import { awaitTurnSlot, freeTurnSlot, limitBeforeOpening, retryAfterLimit } from './limits.ts';
import { LiveText } from './live-text.ts';
import { responseOf } from './model-step.ts';
import {
  checkPlace,
  messageOf,
  misplacedStep,
  type OpenedUnder,
  openUnderFence,
  stepInput,
} from './open-step.ts';
import type { RateLimitedModels } from './rate-limited-models.ts';
import { boundedly } from './step-failures.ts';
import { type OpenStep, timeLeftOfRun } from './step-parts.ts';

interface StepAttempt {
  input: CallModelInput;
  current: Attempt;
  /** Where log lines say that they come from; filled in by what is found out. */
  place: CallPlace;
  rateLimited: RateLimitedModels;
}

type BegunStep = OpenedUnder & { opened: Exclude<OpenedStep, { kind: 'behind' }> };

/** `holdfast.callModel`: one model step, from the transcript to its recorded outcome. */
export async function callModel(
  dependencies: ActivityDependencies,
  input: CallModelInput,
  attempt: Omit<StepAttempt, 'input'>,
): Promise<StepOutcome | SupersededStep> {
  return await new CallModel(dependencies, { input, ...attempt }).run();
}

class CallModel {
  readonly #dependencies: ActivityDependencies;
  readonly #input: CallModelInput;
  readonly #current: Attempt;
  readonly #place: CallPlace;
  readonly #report: StepReport;

  readonly #rateLimited: RateLimitedModels;

  constructor(dependencies: ActivityDependencies, { input, current, place, rateLimited }: StepAttempt) {
    this.#dependencies = dependencies;
    this.#rateLimited = rateLimited;
    this.#input = input;
    this.#current = current;
    this.#place = place;
    this.#report = new StepReport(dependencies.telemetry, input);
  }

  async run(): Promise<StepOutcome | SupersededStep> {
    const { store, transcripts } = this.#dependencies;
    const { message: _message, stateDelta: _delta, runConfig, ...position } = this.#input;
    checkPlace(this.#input);
    this.#checkRateLimit();
    if (this.#input.call === undefined) await awaitTurnSlot(this.#dependencies, this.#input, this.#place);
    const known = transcripts.known(position);
    let opening: OpenedUnder;
    try {
      const { behind, isOther, ...given } = await this.#given(known);
      if (behind !== undefined) return this.#behind(behind);
      const requester = isOther ? undefined : await this.#requester(given.messageDigest);
      opening = await openUnderFence(store, {
        ...position,
        scheduledAt: activityInfo().currentAttemptScheduledTimestampMs,
        ...known.ask,
        ...given,
        ...defined({ requester }),
        ...parentOf(this.#input),
        asked: {
          ...defined({ agent: position.agent, rootAgent: position.rootAgent, runConfig }),
        },
      });
    } catch (error) {
      const isRefused =
        error instanceof MessageConflict || error instanceof NotARootSession || error instanceof Unstorable;
      // The turn ends with this, and those that wait for it go on.
      if (isRefused && this.#input.identity !== undefined) {
        await freeTurnSlot(this.#dependencies, this.#input);
        return this.#refused(error);
      }
      throw error;
    }
    const { opened, fence } = opening;
    if (opened.kind === 'behind') return this.#behind(opened);
    if (opened.kind === 'open') {
      if (this.#input.ownCall !== undefined) await this.#checkNobodyAsked(opened);
      this.#place.app = opened.names.app;
      this.#place.sessionId = opened.names.sessionId;
      this.#report.opened(opened);
      this.#rateLimited.learn(opened.limits);
      await this.#completeWaits(opened.jobs ?? []);
    }
    const told = this.#firstStep({ opened, fence });
    if (opened.kind === 'finished') {
      const { inbox: _inbox, ...finished } = opened;
      return { ...finished, v: position.v, agent: opened.agent ?? position.agent ?? '', ...told };
    }
    if (opened.kind === 'recorded') {
      return { ...(await withEndedGates(store, opened.outcome)), ...told };
    }

    const { runKey, step } = position;
    const live = new LiveText(store.live, { session: opened.session, runKey, step, attempt: opened.attempt });
    try {
      const committed = await this.#commit(await this.#answer(opened, known, live), opened, fence, live);
      return { ...committed.outcome, ...told };
    } catch (error) {
      live.drop();
      throw error;
    }
  }

  /** Input of the step, which plugins have seen; that of an agent's tool is what its call asks it. */
  async #given(known: KnownTranscript): ReturnType<typeof stepInput> {
    const { call, invocationId } = this.#input;
    if (call === undefined) {
      return await stepInput({
        dependencies: this.#dependencies,
        input: this.#input,
        known,
        current: this.#current,
      });
    }
    const { agent: name = '' } = this.#input;
    const agent = agentNamed(this.#dependencies.deployment, { ...this.#input, agent: name });
    return messageOf({
      invocationId,
      message: await messageOfCall(this.#dependencies, agent, this.#input, call),
    });
  }

  /** Where nothing could answer but a model whose rate limit is used up, not even the store is asked. */
  #checkRateLimit(): void {
    // A first step brings its message into the store, and the record of an earlier attempt must not wait.
    if (this.#input.identity !== undefined || activityInfo().attempt > 1) return;
    const limited = limitBeforeOpening(this.#rateLimited, this.#dependencies.deployment, this.#input);
    if (limited !== undefined) throw retryAfterLimit(this.#dependencies, this.#place, limited);
  }

  /** Tells activities that wait for jobs ended by the message. They look by themselves, too, only later. */
  async #completeWaits(jobs: readonly JobOfMessage[]): Promise<void> {
    const ended = jobs.filter((job) => job.ended);
    for (const job of ended) {
      try {
        await completeWait(this.#dependencies.temporal(), job);
      } catch (error) {
        callLogger(this.#dependencies, this.#place).warn(
          'a waiting call was not told of the end of its job',
          {
            jobId: job.jobId,
            ...(this.#dependencies.conceal ? {} : { problem: thrownMessage(error) }),
          },
        );
      }
    }
  }

  /** The sender of the message; the sender of a queued one is in the store. */
  async #requester(messageDigest: string | undefined): Promise<string | undefined> {
    const { identity, invocationId, attestation, ownCall } = this.#input;
    if (identity === undefined || messageDigest === undefined) return undefined;
    const message = { ...identity, messageDigest, invocationId, attestation, ownCall };
    return await requesterOf(this.#dependencies, message);
  }

  /** The turn of a message that somebody has signed is none of a workflow's calls. */
  async #checkNobodyAsked({ names }: OpenStep): Promise<void> {
    const run = await this.#dependencies.store.turns.findInvocation(names, this.#input.invocationId);
    if (run?.requester === undefined) return;
    throw misplacedStep('a call of a workflow is no step of a turn that a person has asked for');
  }

  async #commit(
    answer: StepResponse,
    opened: OpenStep,
    fence: ChainFence,
    live: LiveText,
  ): Promise<CommittedStep> {
    const commit = (response: StepResponse) => {
      // Before the commit, so that who follows the turn has all text before its event.
      const has = (wanted: EventKind) => response.events.some(({ kind }) => kind === wanted);
      if (has('error') && !has('model')) live.drop();
      else live.end();
      const { invocationId, runKey, step } = this.#input;
      return this.#dependencies.store.turns.commitStep({
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
      const { root } = recorded.outcome;
      const ref = { name: recorded.agent, ...defined({ root }) };
      const asked = this.#asked(opened, ref, recorded.outcome.model);
      recorded = this.#concealed(recordOf(draftFromError(asked, error, { usage: recorded.usage })));
      committed = await commit(recorded);
    }
    if (committed.kind === 'committed') this.#report.recorded(opened, recorded);
    return committed;
  }

  /** Facts of the first step for the workflow, beside the outcome. */
  #firstStep({ opened, fence }: BegunStep): FirstStep {
    const { identity, step, fence: own } = this.#input;
    if (step !== 1 || identity === undefined) return {};
    const { searchAttributes, deployment, transcriptUrl } = this.#dependencies;
    const settings = settingsOf(deployment, identity.app, this.#input.appTerms);
    const left =
      opened.kind === 'finished'
        ? undefined
        : timeLeft(settings, {
            age: opened.age,
            sessionTime: opened.sessionUsage.time,
            ...(opened.kind === 'open' ? { run: timeLeftOfRun(this.#input, opened) } : {}),
          });
    return {
      ...(searchAttributes ? { searchAttributes: true } : {}),
      ...(opened.inbox.length > 0 ? { inbox: opened.inbox } : {}),
      ...defined({ timeLeft: left }),
      ...(fence.startedAt === own.startedAt ? {} : { startedAt: fence.startedAt }),
      ...(transcriptUrl === undefined ? {} : { transcript: transcriptUrl(identity) }),
      ...(settings.memory?.index === 'turns' ? { remembers: true } : {}),
    };
  }

  /** It is asked for again when the messages before it are answered. */
  #behind({ kind, session, inbox }: Extract<OpenedStep, { kind: 'behind' }>): SupersededStep {
    return { v: this.#input.v, kind, session, inbox };
  }

  /** A message that can't be stored, or has another one's id: nothing of it is in the store. */
  #refused({ code, message }: MessageConflict | NotARootSession | Unstorable): StepOutcome {
    const outcome: InvocationOutcome = { status: 'failed', error: { code, message }, usage: NO_USAGE };
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

  #asked(opened: OpenStep, { name: agent, root }: AgentRef, model = ''): AskedStep {
    const { invocationId, runKey, step, branch, within } = this.#input;
    const { session, usage, names } = opened;
    const { budget, above, appTerms } = this.#input;
    const timeLeft = timeLeftOfRun(this.#input, opened);
    const settings = this.#settings(opened);
    const { prices } = settings;
    return {
      ...{ app: names.app, session, invocationId, runKey, step, agent, model, usage, prices },
      terms: {
        ...defined({ budget, above, appTerms, timeLeft }),
      },
      appTerms: termsOfApp(settings),
      ...defined({ root, within, branch }),
    };
  }

  #settings({ names }: OpenStep): AppSettings {
    return settingsOf(this.#dependencies.deployment, names.app, this.#input.appTerms);
  }

  async #answer(opened: OpenStep, known: KnownTranscript, live: LiveText): Promise<StepResponse> {
    const { deployment, store, transcripts } = this.#dependencies;
    const transcript = await transcripts.read(known, opened, () =>
      store.sessions.readEvents({ ...opened.names, limit: Number.MAX_SAFE_INTEGER }),
    );
    let actors: Actors;
    try {
      actors = actorsOf(deployment, this.#input, opened, transcript);
    } catch (error) {
      if (!(error instanceof NotDeployedHere)) throw error;
      // Those that waited for other turns opened nothing.
      if (error.retryable && !isLastRefusal(Math.min(activityInfo().attempt, opened.attempt))) {
        // No model was asked.
        await this.#refusedHere(opened, error.message);
        throw error;
      }
      const name = this.#input.agent ?? opened.asked.agent ?? rootAgentOf(deployment, opened.names.app);
      return recordOf(draftFromError(this.#asked(opened, { name }), error));
    }
    const { agent, root, transferredBy } = actors;
    const model = isLlmAgent(agent) ? agent.canonicalModel.model : '';
    const asked = this.#asked(opened, { name: agent.name, root }, model);
    const usedAbove = this.#input.above === undefined ? [] : await store.turns.usageOfRuns(this.#input.above);
    return await boundedly(this.#dependencies, this.#input, { asked, opened }, () =>
      responseOf({
        dependencies: this.#dependencies,
        input: this.#input,
        current: this.#current,
        place: this.#place,
        report: this.#report,
        opened,
        usedAbove,
        agent,
        settings: this.#settings(opened),
        transferredBy,
        asked,
        transcript,
        live,
        rateLimited: this.#rateLimited,
      }),
    );
  }

  async #refusedHere({ session, attempt: number }: OpenStep, error: string): Promise<void> {
    const { runKey, step } = this.#input;
    const { store } = this.#dependencies;
    await store.turns.recordStepFailure({ session, runKey, step, error, counts: false, attempt: number });
  }

  /** The end of a turn is told in a failure's message, which a codec doesn't encode. */
  #concealed(step: StepResponse): StepResponse {
    const { ending, outcome } = step;
    if (!this.#dependencies.conceal || ending?.error === undefined) return step;
    if (outcome.kind === 'calls' || outcome.kind === 'agents') return step;
    const concealed = { ...ending, error: { ...ending.error, concealed: true as const } };
    return { ...step, ending: concealed, outcome: { ...outcome, outcome: concealed } };
  }
}
