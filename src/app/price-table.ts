import { isRecord } from '../protocol/json.ts';
import { excerpt } from '../protocol/visible-text.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { type OptionReader, type OptionsFor, readGroup } from '../schema/options.ts';

/** Price of a model per million tokens, in any currency: all prices and cost budgets of an app are in one. */
export interface ModelPrice {
  /** Tokens of the prompt, with those that tools of the provider added. */
  input: number;
  /** Tokens of the answer, thoughts included. */
  output: number;
  /**
   * Tokens of the prompt that the provider took from its cache.
   *
   * @default input
   */
  cachedInput?: number;
  /**
   * Tokens of the prompt that the provider wrote into its cache.
   *
   * @default input
   */
  cacheWriteInput?: number;
}

/**
 * Prices by the model's name as the agent names it, or by its beginning and `*`. The exact name wins, then the longest
 * beginning.
 *
 * @example
 * { 'gemini-2.5-pro': { input: 1.25, output: 10, cachedInput: 0.31 }, 'gemini-*': { input: 0.3, output: 2.5 } }
 */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/** A {@link PriceTable} that was checked, its defaults filled in. */
export type ResolvedPriceTable = Readonly<Record<string, Readonly<Required<ModelPrice>>>>;

const PRICE = {
  input: amountOf,
  output: amountOf,
  cachedInput: (read, name) => amountOf(read, name, 'input'),
  cacheWriteInput: (read, name) => amountOf(read, name, 'input'),
} satisfies OptionsFor<ModelPrice>;

/** @throws DefinitionError */
export function resolvePriceTable(owner: string, field: string, table: unknown = {}): ResolvedPriceTable {
  if (!isRecord(table)) {
    throw new DefinitionError({ owner, field, problem: `expected prices by model, got ${kindOf(table)}` });
  }
  const priced = Object.entries(table).filter(([, price]) => price !== undefined);
  return Object.freeze(
    Object.fromEntries(
      priced.map(([model, price]) => [
        model,
        resolvePrice(owner, `${field}[${quoted(model)}]`, model, price),
      ]),
    ),
  );
}

function resolvePrice(
  owner: string,
  field: string,
  model: string,
  price: unknown,
): Readonly<Required<ModelPrice>> {
  if (model.trim() === '') {
    throw new DefinitionError({
      owner,
      field,
      problem: 'expected the name of a model, or its beginning and *',
    });
  }
  if (model.slice(0, -1).includes('*')) {
    throw new DefinitionError({ owner, field, problem: '* stands at the end of a name only' });
  }
  return readGroup(PRICE, { owner, options: price, field });
}

/** @param byDefault the option whose price counts where this one has none. */
function amountOf(read: OptionReader, name: string, byDefault = name): number {
  const value = read.value(name) ?? read.value(byDefault);
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  const got = (value ?? undefined) === undefined ? 'required: ' : '';
  const kind = typeof value === 'number' || got !== '' ? '' : `, got ${kindOf(value)}`;
  return read.fail(name, `${got}expected a price per million tokens, 0 or more${kind}`);
}

function quoted(model: string): string {
  return JSON.stringify(excerpt(model, 128));
}
