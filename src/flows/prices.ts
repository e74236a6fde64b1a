import type { ModelPrice, ResolvedPriceTable } from '../app/price-table.ts';
import type { GenerateContentResponseUsageMetadata } from '../events/content.ts';
import { tokenCount } from './token-count.ts';

const UNIT = 1_000_000;

/**
 * What one model call cost, in the currency of the prices. `undefined` where it isn't known: the model has no price, or
 * its response tells no usage.
 */
export function costOf(
  prices: ResolvedPriceTable,
  model: string,
  usage: GenerateContentResponseUsageMetadata | undefined,
): number | undefined {
  const price = priceOf(prices, model);
  if (price === undefined || typeof usage !== 'object' || usage === null) return undefined;
  const prompt = tokenCount(usage.promptTokenCount);
  const cached = Math.min(tokenCount(usage.cachedContentTokenCount), prompt);
  const input = prompt - cached + tokenCount(usage.toolUsePromptTokenCount);
  const output = tokenCount(usage.candidatesTokenCount) + tokenCount(usage.thoughtsTokenCount);
  return (input * price.input + cached * price.cachedInput + output * price.output) / UNIT;
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
