import type { LlmAgent } from '../agents/llm-agent.ts';
import type { ResolvedPriceTable } from '../agents/price-table.ts';
import type { Event } from '../events/event.ts';
import { createEventActions } from '../events/event-actions.ts';
import type { LlmResponse } from '../models/llm-response.ts';
import type { Reference } from '../protocol/carried.ts';
import { stepKeyOf } from '../protocol/identity.ts';
import type { StepOutcome } from '../protocol/step.ts';
import type { InvocationOutcome } from '../protocol/turn.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import type { CommitStep, NewEvent, StepUsage } from '../store/store.ts';
import { nameCalls, type TakenCallIds } from './call-ids.ts';
import { cutToBytes } from './cut-to-bytes.ts';
import { finalTextOf } from './final-text.ts';
import { planCalls } from './plan-calls.ts';
import { costOf } from './prices.ts';
import { carry } from './size-rule.ts';
import { tokenCount } from './token-count.ts';

/** Messages of a turn's end go into the history, in bytes. */
const LONGEST_MESSAGE = 2_000;
const LONGEST_CODE = 200;

/** What a model's answer, or its failure, adds to the store. */
export type StepResponse = Pick<
  CommitStep,
  'agent' | 'events' | 'calls' | 'rows' | 'usage' | 'outcome' | 'ending'
>;

export interface AskedStep {
  session: string;
  invocationId: string;
  runKey: string;
  step: number;
  agent: string;
  model: string;
  /** What earlier steps of the invocation used. */
  usage: StepUsage;
  prices: ResolvedPriceTable;
}

/** The step that a response asks for: its calls, or the end of the turn. */
export function stepFromResponse(
  asked: AskedStep,
  agent: LlmAgent,
  response: LlmResponse,
  takenCallIds: TakenCallIds,
): StepResponse {
  const given = (response.content?.parts ?? []).filter((part) => typeof part === 'object' && part !== null);
  const { parts, callIds } = nameCalls(given, asked.runKey, asked.step, takenCallIds);
  const usage = usageOf(response, asked);
  const total = addUsage(asked.usage, usage);
  const calls = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]));
  const text = finalTextOf({ parts });
  const failed = calls.length === 0 && response.errorCode !== undefined;
  const final = calls.length === 0 && !failed;
  const { partial: _partial, ...said } = response;
  const event: Omit<Event, 'id' | 'timestamp'> = {
    ...said,
    ...(response.content === undefined ? {} : { content: { ...response.content, role: 'model', parts } }),
    invocationId: asked.invocationId,
    author: asked.agent,
    actions: createEventActions(
      final && agent.outputKey !== undefined && text !== ''
        ? { stateDelta: { [agent.outputKey]: text } }
        : {},
    ),
  };
  if (calls.length === 0) {
    const ending: InvocationOutcome = failed
      ? { status: 'failed', error: errorOf(response), usage: total }
      : { status: 'completed', text: textOf(asked, text), usage: total };
    return {
      ...ended(asked, failed ? 'failed' : 'final', ending),
      events: [{ kind: failed && parts.length === 0 ? 'error' : 'model', event }],
      usage,
    };
  }
  const plan = planCalls(
    asked.runKey,
    asked.step,
    calls.map(({ name, args }, index) => ({
      callId: callIds[index] ?? '',
      name: name ?? '',
      args: args ?? {},
    })),
    new Map(agent.tools.map((tool) => [tool.name, tool])),
  );
  const outcome: StepOutcome = {
    v: PROTOCOL_VERSION,
    kind: 'calls',
    session: asked.session,
    seq: 0,
    agent: asked.agent,
    model: asked.model,
    calls: plan.calls,
    schedules: plan.schedules,
    maxParallelCalls: agent.durable.maxParallelCalls,
    usage: total,
  };
  return {
    agent: asked.agent,
    events: [{ kind: 'model', event }],
    calls: plan.all,
    rows: plan.rows,
    usage,
    outcome,
  };
}

/** The end of a turn whose last call asked for no summary; it was settled by an attempt that nobody heard of. */
export function endWithResponses(asked: AskedStep): StepResponse {
  const usage: StepUsage = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };
  return { ...ended(asked, 'final', { status: 'completed', usage: asked.usage }), events: [], usage };
}

/** The end of a turn whose model, or whose agent, can't go on: an error event, kept. */
export function stepFromError(
  asked: AskedStep,
  error: { code: string; message: string },
  usage: StepUsage = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
): StepResponse {
  const message = cutToBytes(error.message, LONGEST_MESSAGE);
  const event: NewEvent = {
    kind: 'error',
    event: {
      invocationId: asked.invocationId,
      author: asked.agent,
      errorCode: error.code,
      errorMessage: message,
      actions: createEventActions(),
    },
  };
  const ending: InvocationOutcome = {
    status: 'failed',
    error: { code: error.code, message },
    usage: addUsage(asked.usage, usage),
  };
  return { ...ended(asked, 'failed', ending), events: [event], usage };
}

function ended(
  asked: AskedStep,
  kind: 'final' | 'failed',
  ending: InvocationOutcome,
): Omit<StepResponse, 'events' | 'usage'> {
  return {
    agent: asked.agent,
    calls: [],
    rows: [],
    outcome: {
      v: PROTOCOL_VERSION,
      kind,
      session: asked.session,
      seq: 0,
      from: 0,
      agent: asked.agent,
      model: asked.model,
      outcome: ending,
    },
    ending,
  };
}

/** The size rule of results, whose text is plain while it is small. */
function textOf({ runKey, step }: AskedStep, text: string): string | Reference {
  const carried = carry(stepKeyOf(runKey, step), text);
  return 'value' in carried ? carried.value : carried.ref;
}

function errorOf({ errorCode, errorMessage }: LlmResponse): { code: string; message: string } {
  const code = cutToBytes(String(errorCode ?? 'UNKNOWN'), LONGEST_CODE);
  return { code, message: cutToBytes(errorMessage || `the model stopped with ${code}`, LONGEST_MESSAGE) };
}

/** What a response says that it used; a model that says nothing counts as a call, and no tokens. */
export function usageOf(
  { usageMetadata }: LlmResponse,
  { prices, model }: Pick<AskedStep, 'prices' | 'model'>,
): StepUsage {
  const { promptTokenCount, toolUsePromptTokenCount, candidatesTokenCount, thoughtsTokenCount } =
    usageMetadata ?? {};
  const promptTokens = tokenCount(promptTokenCount);
  const outputTokens = tokenCount(candidatesTokenCount) + tokenCount(thoughtsTokenCount);
  const sum = promptTokens + tokenCount(toolUsePromptTokenCount) + outputTokens;
  const cost = costOf(prices, model, usageMetadata);
  return {
    modelCalls: 1,
    promptTokens,
    outputTokens,
    totalTokens: Math.max(tokenCount(usageMetadata?.totalTokenCount), sum),
    ...(cost === undefined ? {} : { cost }),
  };
}

function addUsage(one: StepUsage, other: StepUsage): StepUsage {
  const { unknownCalls } = one;
  return {
    modelCalls: one.modelCalls + other.modelCalls,
    promptTokens: one.promptTokens + other.promptTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    ...(one.cost === undefined && other.cost === undefined
      ? {}
      : { cost: (one.cost ?? 0) + (other.cost ?? 0) }),
    ...(unknownCalls === undefined ? {} : { unknownCalls }),
  };
}
