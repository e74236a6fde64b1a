import type { LlmAgent } from '../src/agents/llm-agent.ts';
import type { Content } from '../src/events/content.ts';
import { createEventActions } from '../src/events/event-actions.ts';
import { buildRequest } from '../src/flows/build-request.ts';
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
    const request = await requestFor(agent, transcript, {
      ...input,
      names: opened.names,
      state: opened.state,
    });
    response = await askModel(agent, request, input.runConfig?.streamingMode === 'sse', current);
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    return await failStep(dependencies, asked, agent, opened, toModelError(error));
  }
  return stepFromResponse(asked, agent, response, callIdsOf(transcript));
}

/** An instruction provider is user code that may fail for a while, like a provider does. */
async function requestFor(...[agent, ...rest]: Parameters<typeof buildRequest>): Promise<LlmRequest> {
  try {
    return await buildRequest(agent, ...rest);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the request of agent ${agent.name} could not be built: ${reason}`;
    const retryable = !(error instanceof MissingTemplateValue);
    throw new ModelError({ kind: retryable ? 'unknown' : 'bad_request', message, retryable });
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

/** A failure of the provider's own counts; being told to wait doesn't. The last one ends the turn, its events kept. */
async function failStep(
  { store, logger }: ActivityDependencies,
  asked: Parameters<typeof stepFromError>[0],
  agent: LlmAgent,
  opened: OpenStep,
  modelError: ModelError,
): Promise<StepResponse> {
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
