import type { Attributes } from '@opentelemetry/api';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import type { InvocationOutcome } from '../../src/protocol/turn.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { SpanEnd, TracedSpan } from './tracing.ts';
import { errorType } from './turn-metrics.ts';

/** Names: OpenTelemetry's semantic conventions for generative AI, and `holdfast.` for facts without a name there. */
export interface AgentFacts {
  agent: string;
  invocationId: string;
  names: SessionNames | undefined;
}

export function chatSpan(facts: AgentFacts & { model: string; step: number; attempt: number }): TracedSpan {
  const { model, step, attempt } = facts;
  return {
    name: `chat ${model}`,
    kind: 'client',
    attributes: {
      ...agentAttributes('chat', facts),
      'gen_ai.provider.name': providerOf(model),
      'gen_ai.request.model': model,
      'holdfast.step': step,
      'holdfast.attempt': attempt,
    },
  };
}

export function answeredChat({ usageMetadata, modelVersion, finishReason, errorCode }: LlmResponse): SpanEnd {
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usageMetadata ?? {};
  const { cachedContentTokenCount, cacheWriteTokenCount } = usageMetadata ?? {};
  const outputTokens =
    candidatesTokenCount === undefined && thoughtsTokenCount === undefined
      ? undefined
      : (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0);
  return {
    attributes: known({
      'gen_ai.response.model': modelVersion,
      'gen_ai.response.finish_reasons': finishReason === undefined ? undefined : [finishReason],
      'gen_ai.usage.input_tokens': promptTokenCount,
      'gen_ai.usage.cache_read.input_tokens': cachedContentTokenCount,
      'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokenCount,
      'gen_ai.usage.output_tokens': outputTokens,
    }),
    ...(errorCode === undefined ? {} : { error: { type: errorType(errorCode) } }),
  };
}

export function toolSpan(
  facts: AgentFacts & { tool: string; callKey: string; callId: string; attempt: number },
): TracedSpan {
  const { tool, callKey, callId, attempt } = facts;
  return {
    name: `execute_tool ${tool}`,
    kind: 'internal',
    attributes: {
      ...agentAttributes('execute_tool', facts),
      'gen_ai.tool.name': tool,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': callId,
      'holdfast.call_key': callKey,
      'holdfast.attempt': attempt,
    },
  };
}

export function turnSpan(
  facts: AgentFacts,
  { status, error, usage }: InvocationOutcome,
): { name: string; end: SpanEnd } {
  return {
    name: `invoke_agent ${facts.agent}`,
    end: {
      attributes: known({
        ...agentAttributes('invoke_agent', facts),
        'gen_ai.usage.input_tokens': usage.promptTokens,
        'gen_ai.usage.output_tokens': usage.outputTokens,
        'holdfast.status': status,
        'holdfast.model_calls': usage.modelCalls,
        'holdfast.cost': usage.cost,
      }),
      ...(status === 'failed' ? { error: { type: errorType(error?.code) } } : {}),
    },
  };
}

function agentAttributes(operation: string, { agent, invocationId, names }: AgentFacts): Attributes {
  return known({
    'gen_ai.operation.name': operation,
    'gen_ai.agent.name': agent,
    'gen_ai.conversation.id': names?.sessionId,
    'holdfast.app': names?.app,
    'holdfast.invocation_id': invocationId,
  });
}

function providerOf(model: string): string {
  return /gemini/.test(model) ? 'gcp.gemini' : '_OTHER';
}

function known(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** Values of models and tools may be of any type; a span takes text. */
export function contentText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'undefined';
  } catch {
    return `(${typeof value}, no JSON)`;
  }
}
