import type { LlmAgent } from '../src/agents/llm-agent.ts';
import type { Content } from '../src/events/content.ts';
import { createEventActions } from '../src/events/event-actions.ts';
import { buildRequest } from '../src/flows/build-request.ts';
import { callIdsOf } from '../src/flows/contents.ts';
import { type StepResponse, stepFromError, stepFromResponse } from '../src/flows/step-response.ts';
import type { LlmResponse } from '../src/models/llm-response.ts';
import { toModelError } from '../src/models/model-errors.ts';
import type { CallModelInput, StepOutcome } from '../src/protocol/step.ts';
import type { OpenedStep, StoredEvent } from '../src/store/store.ts';
import { type Attempt, abortFailure, attempt, retryLater, waitedSoFar } from './attempt.ts';
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
      const opened = await store.openStep({
        ...input,
        knownSeq,
        ...(input.message === undefined ? {} : { message: messageEvent(input, input.message) }),
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
  try {
    const request = await buildRequest(agent, transcript, {
      ...input,
      names: opened.names,
      state: opened.state,
    });
    const response = await askModel(agent, request, input.runConfig?.streamingMode === 'sse', current);
    return stepFromResponse(asked, agent, response, callIdsOf(transcript));
  } catch (error) {
    if (current.signal.aborted) throw abortFailure();
    return await failStep(dependencies, asked, agent, opened, error);
  }
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
  request: Parameters<LlmAgent['canonicalModel']['generateContentAsync']>[0],
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
    if (timeout.aborted && !current.signal.aborted) throw new ModelTimeout(agent.durable.modelTimeout);
    throw error;
  }
  if (last === undefined) throw new EmptyModelResponse(request.model ?? '');
  return last;
}

/** A failure of the provider's own counts; being told to wait doesn't. The last one ends the turn, its events kept. */
async function failStep(
  { store, logger }: ActivityDependencies,
  asked: Parameters<typeof stepFromError>[0],
  agent: LlmAgent,
  opened: OpenStep,
  error: unknown,
): Promise<StepResponse> {
  const modelError = toModelError(error);
  const { retryable, countsAsFailure, retryAfterMs, message, name } = modelError;
  if (!retryable) return stepFromError(asked, modelError);
  if (countsAsFailure) {
    const failures = await store.recordStepFailure({ ...asked, error: message });
    logger.warn(`model call failed: ${message}`, { agent: agent.name, model: asked.model, failures });
    if (failures >= agent.durable.modelRetry.maximumAttempts) return stepFromError(asked, modelError);
  }
  const backOff = delayOf(agent, opened.failures);
  throw retryLater(name, message, { delay: retryAfterMs ?? backOff, benign: !countsAsFailure });
}

function delayOf({ durable: { modelRetry } }: LlmAgent, failures: number): number {
  return Math.min(
    modelRetry.initialInterval * modelRetry.backoffCoefficient ** failures,
    modelRetry.maximumInterval,
  );
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

class ModelTimeout extends Error {
  readonly code = 'HOLDFAST_MODEL_TIMEOUT';
  override readonly name = 'TimeoutError';

  constructor(timeout: number) {
    super(`the model gave no answer within ${timeout} ms (modelTimeout of the agent)`);
  }
}

class EmptyModelResponse extends Error {
  readonly code = 'HOLDFAST_MODEL_EMPTY';

  constructor(model: string) {
    super(`the model ${model} ended its stream without a response`);
  }
}
