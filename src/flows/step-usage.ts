import type { ModelPrice, ResolvedPriceTable } from '../app/price-table.ts';
import type { TurnUsage } from '../contract/sessions.ts';
import type { LlmUsageMetadata } from '../events/content.ts';
import type { LlmResponse } from '../models/llm-response.ts';
import { defined } from '../protocol/json.ts';

/** A model's own figure, which may be anything; one that is no number of tokens counts as none. */
function tokenCount(count: unknown): number {
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : 0;
}

const UNIT = 1_000_000;

/**
 * The cost of one model call, in the currency of the prices. `undefined` where it isn't known: the model has no price, or
 * its response tells no usage.
 */
export function costOf(
  prices: ResolvedPriceTable,
  model: string,
  usage: LlmUsageMetadata | undefined,
): number | undefined {
  const price = priceOf(prices, model);
  if (price === undefined || typeof usage !== 'object' || usage === null) return undefined;
  const prompt = tokenCount(usage.promptTokenCount);
  const cached = Math.min(tokenCount(usage.cachedContentTokenCount), prompt);
  const written = Math.min(tokenCount(usage.cacheWriteTokenCount), prompt - cached);
  const input = prompt - cached - written + tokenCount(usage.toolUsePromptTokenCount);
  const output = tokenCount(usage.candidatesTokenCount) + tokenCount(usage.thoughtsTokenCount);
  const ofCaches = cached * price.cachedInput + written * price.cacheWriteInput;
  return (input * price.input + ofCaches + output * price.output) / UNIT;
}

/** The price of the exact name, else of the longest beginning. */
export function priceOf(
  prices: ResolvedPriceTable,
  model: string,
): Readonly<Required<ModelPrice>> | undefined {
  if (Object.hasOwn(prices, model) && !model.endsWith('*')) return prices[model];
  let longest = '';
  for (const name of Object.keys(prices)) {
    if (name.endsWith('*') && model.startsWith(name.slice(0, -1)) && name.length > longest.length) {
      longest = name;
    }
  }
  return prices[longest];
}

export const NO_USAGE: TurnUsage = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };

/** Usage of a model call whose response has no usage. */
export const ONE_CALL: TurnUsage = { ...NO_USAGE, modelCalls: 1 };

/** The usage in a response; without one it counts as a call with no tokens. */
export function usageOf(
  { usageMetadata }: LlmResponse,
  { prices, model }: { prices: ResolvedPriceTable; model: string },
): TurnUsage {
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

export function addUsage(one: TurnUsage, other: TurnUsage): TurnUsage {
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
