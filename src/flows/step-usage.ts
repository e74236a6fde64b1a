import type { ResolvedPriceTable } from '../app/price-table.ts';
import type { LlmResponse } from '../models/llm-response.ts';
import { defined } from '../protocol/defined.ts';
import type { StepUsage } from '../store/turns/usage.ts';
import { costOf } from './prices.ts';
import { tokenCount } from './token-count.ts';

export const NO_USAGE: StepUsage = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };

/** Of a model that was asked and said nothing of what that took. */
export const ONE_CALL: StepUsage = { ...NO_USAGE, modelCalls: 1 };

/** What a response says that it used; a model that says nothing counts as a call, and no tokens. */
export function usageOf(
  { usageMetadata }: LlmResponse,
  { prices, model }: { prices: ResolvedPriceTable; model: string },
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
    ...defined({ cost }),
  };
}

export function addUsage(one: StepUsage, other: StepUsage): StepUsage {
  const { unknownCalls } = one;
  return {
    modelCalls: one.modelCalls + other.modelCalls,
    promptTokens: one.promptTokens + other.promptTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    ...(one.cost === undefined && other.cost === undefined
      ? {}
      : { cost: (one.cost ?? 0) + (other.cost ?? 0) }),
    ...defined({ unknownCalls }),
  };
}
