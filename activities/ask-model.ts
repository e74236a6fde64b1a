import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { buildRequest, InstructionFailed, type RequestContext } from '../src/flows/build-request.ts';
import { MissingTemplateValue } from '../src/flows/fill-template.ts';
import type { Transcript } from '../src/flows/transcript.ts';
import type { LlmResponse } from '../src/models/llm-response.ts';
import { ModelError, toModelError } from '../src/models/model-errors.ts';
import type { Attempt } from './attempt.ts';
import { whicheverComesFirst } from './race.ts';

/** What a timer can wait for. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

export interface ModelQuestion {
  agent: LlmAgent;
  transcript: Transcript;
  context: RequestContext;
  stream: boolean;
  /** Told of partial responses as they come; never after the attempt has ended. */
  onPartial?: ((response: LlmResponse) => void) | undefined;
  /** What is left of the turn's wall time, milliseconds. */
  timeLeft: number | undefined;
  current: Attempt;
}

/** The turn's wall time was used up while its model was asked. */
export class OutOfTime extends Error {
  readonly code = 'HOLDFAST_BUDGET_EXCEEDED';
  override readonly name = 'OutOfTime';
}

export interface StepFailure {
  code: string;
  message: string;
  retryable: boolean;
  /** A failure of the provider's own counts; being told to wait doesn't. */
  counts: boolean;
  retryAfterMs?: number | undefined;
  /** Calls of the model that the failure stands for. */
  modelCalls: number;
}

/** Neither the instruction nor the model holds the attempt where they don't heed their signal. */
export async function askModel(question: ModelQuestion): Promise<LlmResponse> {
  const { agent, transcript, context, stream, onPartial, timeLeft, current } = question;
  const { modelTimeout } = agent.durable;
  const timeout = AbortSignal.timeout(modelTimeout);
  const outOfTime = new AbortController();
  const deadline =
    timeLeft === undefined
      ? undefined
      : setTimeout(() => outOfTime.abort(), Math.min(timeLeft, LONGEST_TIMEOUT));
  const signal = AbortSignal.any([current.signal, timeout, outOfTime.signal]);
  const late = `no answer within ${modelTimeout} ms (modelTimeout of the agent ${agent.name})`;
  const work = async () => {
    const request = await buildRequest(agent, transcript, context);
    let last: LlmResponse | undefined;
    for await (const response of agent.canonicalModel.generateContentAsync(request, stream, signal)) {
      if (response.partial) onPartial?.(response);
      else last = response;
    }
    if (last !== undefined) return last;
    const empty = `the model ${request.model} ended its stream without a response`;
    throw new ModelError({ kind: 'network', message: empty });
  };
  try {
    return await whicheverComesFirst(work(), [
      [current.signal, current.aborted],
      [outOfTime.signal, () => new OutOfTime("the turn's wall time is used up: its model was being asked")],
      [timeout, () => new ModelError({ kind: 'timeout', message: late })],
    ]);
  } finally {
    clearTimeout(deadline);
  }
}

export function failureOf(error: unknown): StepFailure {
  if (error instanceof MissingTemplateValue || error instanceof InstructionFailed) {
    const { code, message, retryable } = error;
    return { code, message, retryable, counts: true, modelCalls: 0 };
  }
  const { code, message, retryable, countsAsFailure, retryAfterMs } = toModelError(error);
  return { code, message, retryable, counts: countsAsFailure, retryAfterMs, modelCalls: 1 };
}

/** Milliseconds until the next attempt, by the agent's own retry options. */
export function delayOf({ durable: { modelRetry } }: LlmAgent, attempt: number): number {
  const { initialInterval, backoffCoefficient, maximumInterval } = modelRetry;
  return Math.min(initialInterval * backoffCoefficient ** (attempt - 1), maximumInterval);
}
