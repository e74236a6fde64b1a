import type { LlmAgent } from '../src/agents/llm-agent.ts';
import type { Content } from '../src/events/content.ts';
import { createEventActions } from '../src/events/event-actions.ts';
import { buildRequest, InstructionFailed } from '../src/flows/build-request.ts';
import { callIdsOf } from '../src/flows/contents.ts';
import { MissingTemplateValue } from '../src/flows/fill-template.ts';
import { type StepResponse, stepFromError, stepFromResponse } from '../src/flows/step-response.ts';
import type { LlmRequest } from '../src/models/llm-request.ts';
import type { LlmResponse } from '../src/models/llm-response.ts';
import { ModelError, toModelError } from '../src/models/model-errors.ts';
import type { CallModelInput, StepOutcome } from '../src/protocol/step.ts';
import type { OpenedStep, StoredEvent } from '../src/store/store.ts';
import { type Attempt, attempt, retryLater, waitedSoFar } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { agentOf } from './deployment.ts';
import { NOT_DEPLOYED_PATIENCE, NotDeployedHere } from './not-deployed-here.ts';

type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

/** `holdfast.callModel`: one model step, from the transcript to its recorded outcome. */
export function callModel(
  dependencies: ActivityDependencies,
): (input: CallModelInput) => Promise<StepOutcome> {
  return (input) =>
    attempt(async (current) => {
      const { store, transcripts } = dependencies;
      const knownSeq = transcripts.knownSeq(input.session);
      const { message, ...position } = input;
      const opened = await store.openStep({
        ...position,
        knownSeq,
        ...(message === undefined ? {} : { message: messageEvent(input, message) }),
      });
      if (opened.kind === 'finished')
        return { ...opened, v: input.v, agent: opened.agent ?? input.agent ?? '' };
      if (opened.kind === 'recorded') return opened.outcome;

      const step = await runStep(dependencies, input, opened, knownSeq, current);
      const { outcome } = await store.commitStep({ ...input, session: opened.session, ...step });
      return dependencies.searchAttributes && input.step === 1
        ? { ...outcome, searchAttributes: true }
        : outcome;
    });
}

async function runStep(
  dependencies: ActivityDependencies,
  input: CallModelInput,
  opened: OpenStep,
  knownSeq: number,
  current: Attempt,
): Promise<StepResponse> {
  const { deployment } = dependencies;
  const position = { ...input, session: opened.session, usage: opened.usage };
  const name = input.agent ?? opened.lastAgent ?? deployment.rootAgent;
  let agent: LlmAgent;
  try {
    agent = agentOf(deployment, name);
  } catch (error) {
    if (!(error instanceof NotDeployedHere) || waitedSoFar() < NOT_DEPLOYED_PATIENCE) throw error;
    return stepFromError({ ...position, agent: name, model: '' }, error);
  }
  const transcript = await transcriptOf(dependencies, opened, knownSeq);
  const model = agent.canonicalModel;
  const asked = { ...position, agent: agent.name, model: model.model };
  let response: LlmResponse;
  try {
    const request = await buildRequest(agent, transcript, {
      ...input,
      names: opened.names,
      state: opened.state,
    });
    response = await askModel(agent, request, input.runConfig?.streamingMode === 'sse', current);
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    return await failStep(dependencies, asked, agent, opened, failureOf(error));
  }
  return stepFromResponse(asked, agent, response, callIdsOf(transcript));
}

async function transcriptOf(
  { store, transcripts }: ActivityDependencies,
  opened: OpenStep,
  knownSeq: number,
): Promise<readonly StoredEvent[]> {
  return (
    transcripts.extend(opened.session, knownSeq, opened.events) ??
    (await store.readEvents({ ...opened.names, limit: Number.MAX_SAFE_INTEGER }))
  );
}

async function askModel(
  agent: LlmAgent,
  request: LlmRequest,
  stream: boolean,
  current: Attempt,
): Promise<LlmResponse> {
  const timeout = AbortSignal.timeout(agent.durable.modelTimeout);
  const signal = AbortSignal.any([current.signal, timeout]);
  let last: LlmResponse | undefined;
  try {
    for await (const response of agent.canonicalModel.generateContentAsync(request, stream, signal)) {
      if (!response.partial) last = response;
    }
  } catch (error) {
    if (!timeout.aborted || current.signal.aborted) throw error;
    const message = `no answer within ${agent.durable.modelTimeout} ms (modelTimeout of the agent ${agent.name})`;
    throw new ModelError({ kind: 'timeout', message });
  }
  if (last !== undefined) return last;
  throw new ModelError({
    kind: 'network',
    message: `the model ${request.model} ended its stream without a response`,
  });
}

interface StepFailure {
  code: string;
  message: string;
  retryable: boolean;
  /** A failure of the provider's own counts; being told to wait doesn't. */
  counts: boolean;
  retryAfterMs?: number | undefined;
  /** Whether the model was asked at all. */
  asked: boolean;
}

function failureOf(error: unknown): StepFailure {
  if (error instanceof MissingTemplateValue || error instanceof InstructionFailed) {
    const { code, message, retryable } = error;
    return { code, message, retryable, counts: true, asked: false };
  }
  const { code, message, retryable, countsAsFailure, retryAfterMs } = toModelError(error);
  return { code, message, retryable, counts: countsAsFailure, retryAfterMs, asked: true };
}

/** The last failure that counts ends the turn, its events kept. */
async function failStep(
  { store, logger }: ActivityDependencies,
  asked: Parameters<typeof stepFromError>[0],
  agent: LlmAgent,
  opened: OpenStep,
  failure: StepFailure,
): Promise<StepResponse> {
  const { code, message, retryable, counts, retryAfterMs } = failure;
  const modelCalls = failure.asked ? 1 : 0;
  if (!retryable) return stepFromError(asked, failure, modelCalls);
  if (counts) {
    const failures = await store.recordStepFailure({ ...asked, error: message });
    logger.warn(`model step failed: ${message}`, { agent: agent.name, model: asked.model, failures });
    if (failures >= agent.durable.modelRetry.maximumAttempts)
      return stepFromError(asked, failure, modelCalls);
  }
  throw retryLater(code, message, { delay: retryAfterMs ?? delayOf(agent, opened.attempt), benign: !counts });
}

function delayOf({ durable: { modelRetry } }: LlmAgent, attempt: number): number {
  const { initialInterval, backoffCoefficient, maximumInterval } = modelRetry;
  return Math.min(initialInterval * backoffCoefficient ** (attempt - 1), maximumInterval);
}

function messageEvent({ invocationId, stateDelta }: CallModelInput, message: string | Content) {
  const content: Content = typeof message === 'string' ? { parts: [{ text: message }] } : message;
  return {
    invocationId,
    author: 'user',
    content: { ...content, role: 'user' },
    actions: createEventActions({ stateDelta: stateDelta ?? {} }),
  };
}
