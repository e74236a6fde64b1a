import type { TurnRunConfig } from '../protocol/turn.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import type { Duration } from '../schema/duration.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';
import { type Budgets, type ResolvedBudgets, resolveBudgets } from './budget-limits.ts';
import { type PriceTable, type ResolvedPriceTable, resolvePriceTable } from './price-table.ts';

/** How Holdfast runs an app: options of ours, beside those of ADK. */
export interface AppDurableOptions {
  /**
   * Sessions in which nothing has happened for this long are deleted.
   *
   * @default sessions are kept
   * @format milliseconds, or text like `'90 days'`
   */
  retention?: Duration;
  /** What models cost; turns report no cost without. */
  prices?: PriceTable;
  /** What a turn, and a session as a whole, may use up. Nothing is limited by default, `maxLlmCalls` aside. */
  budgets?: Budgets;
  /** Settings of the app's turns; those that come with a message win, field by field. */
  runConfig?: TurnRunConfig;
}

/** {@link AppDurableOptions} that were checked, their defaults filled in; durations in milliseconds. */
export interface AppSettings {
  readonly retention?: number;
  readonly prices: ResolvedPriceTable;
  readonly budgets: ResolvedBudgets;
  readonly runConfig: Readonly<TurnRunConfig>;
}

const FIELDS = ['retention', 'prices', 'budgets', 'runConfig'];
const COMING = ['approval', 'limits'];

/** @throws DefinitionError naming the option. */
export function resolveAppSettings(owner: string, field: string, options: unknown = {}): AppSettings {
  for (const name of COMING) {
    if (isRecord(options) && options[name] !== undefined) {
      throw new DefinitionError({
        owner,
        field: `${field}.${name}`,
        problem: 'an option that this release of Holdfast does not have yet; leave it out',
      });
    }
  }
  assertKnownFields(owner, options, FIELDS, { field });
  const read = new OptionReader(owner, options, field);
  return Object.freeze({
    ...(read.given('retention') ? { retention: read.duration('retention', 1) } : {}),
    prices: resolvePriceTable(owner, `${field}.prices`, options.prices),
    budgets: resolveBudgets(owner, `${field}.budgets`, options.budgets),
    runConfig: resolveRunConfig(owner, `${field}.runConfig`, options.runConfig),
  });
}

/** Of an app that is named by its turns only. */
export const DEFAULT_APP_SETTINGS: AppSettings = resolveAppSettings('App', 'durable');

/** The run config of a turn: its message's, and for what that leaves out the app's. */
export function runConfigOf(settings: AppSettings, given: TurnRunConfig = {}): TurnRunConfig {
  const maxLlmCalls = given.maxLlmCalls ?? settings.runConfig.maxLlmCalls;
  const streamingMode = given.streamingMode ?? settings.runConfig.streamingMode;
  return {
    ...(maxLlmCalls === undefined ? {} : { maxLlmCalls }),
    ...(streamingMode === undefined ? {} : { streamingMode }),
  };
}

function resolveRunConfig(owner: string, field: string, runConfig: unknown = {}): Readonly<TurnRunConfig> {
  assertKnownFields(owner, runConfig, ['maxLlmCalls', 'streamingMode'], { field });
  const read = new OptionReader(owner, runConfig, field);
  const { maxLlmCalls } = runConfig;
  if (maxLlmCalls !== undefined && !Number.isSafeInteger(maxLlmCalls)) {
    const got = typeof maxLlmCalls === 'number' ? '' : `, got ${kindOf(maxLlmCalls)}`;
    read.fail('maxLlmCalls', `expected a whole number, 0 or less for no limit${got}`);
  }
  return Object.freeze({
    ...(maxLlmCalls === undefined ? {} : { maxLlmCalls: Number(maxLlmCalls) }),
    ...(read.given('streamingMode')
      ? { streamingMode: read.choice('streamingMode', ['none', 'sse'], 'none') }
      : {}),
  });
}
