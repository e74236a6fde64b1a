import { type Budgets, resolveBudgets } from '../agents/budget-limits.ts';
import type { Notifier } from '../approvals/notifier.ts';
import type { BaseArtifactService } from '../artifacts/base-artifact-service.ts';
import { type OAuthProviderOptions, resolveProviders } from '../oauth/oauth-provider.ts';
import { defined, isRecord } from '../protocol/json.ts';
import type { TurnRunConfig } from '../protocol/run-terms.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import type { Duration } from '../schema/duration.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { namesOf, type OptionReader, type OptionsFor, type Resolved, readGroup } from '../schema/options.ts';
import type { ToolFactory } from '../tools/base-tool.ts';
import { type AppApprovalOptions, resolveApprovals, resolveNotifiers } from './approval-settings.ts';
import { type Limits, resolveLimits } from './limit-settings.ts';
import { type MemoryOptions, resolveMemory } from './memory-settings.ts';
import { type PriceTable, resolvePriceTable } from './price-table.ts';

/** How Holdfast runs an app: options of ours, beside those of ADK. */
export interface AppDurableOptions {
  /**
   * Sessions in which nothing has happened for this long are deleted.
   *
   * @default sessions are kept
   * @format milliseconds, or text like `'90 days'`
   */
  retention?: Duration;
  /** Prices of models. Without them turns report no cost. */
  prices?: PriceTable;
  /** Limits of a turn, and of a session as a whole. By default only `maxLlmCalls` limits. */
  budgets?: Budgets;
  /** How many of its turns run at the same time. Nothing is limited by default. */
  limits?: Limits;
  /** Settings of the app's turns; those that come with a message win, field by field. */
  runConfig?: TurnRunConfig;
  /**
   * How steps of its agents run that have no `steps` of their own: each as an activity, or several in one.
   *
   * @default 'activity'
   */
  steps?: 'activity' | 'chain';
  /**
   * Makers of the tools that callbacks, plugins and processors add to a turn, by the names under which they do so: each worker
   * makes the same tool of the same arguments.
   *
   * @example { orderQuery: ({ orderId }) => tool({ name: 'query_order', description: '…', execute: () => find(orderId) }) }
   */
  toolFactories?: Readonly<Record<string, ToolFactory>> | ReadonlyMap<string, ToolFactory>;
  /**
   * Authorization servers by the `credentialKey` under which tools ask for their tokens.
   *
   * @default tools bring their own, as in ADK
   * @example oauth: { calendar: { issuer: 'https://accounts.example.com', clientId: 'shop', scopes: ['calendar.read'] } }
   */
  oauth?: Readonly<Record<string, OAuthProviderOptions>>;
  /** Rules about decisions on calls that name approvers or a quorum, or that bar their requester. */
  approval?: AppApprovalOptions;
  /** Notifiers that are told of requests that wait for people, in this order. */
  notifiers?: readonly Notifier[];
  /**
   * A service of your own that keeps the app's artifacts. It can’t be part of the store’s transactions: a call whose worker dies right after
   * a save may save that version again.
   *
   * @default the store, and the worker's bucket
   */
  artifactService?: BaseArtifactService;
  /**
   * Whether a model gets results of tools that are not `trusted` in an envelope that marks them as data, whose instructions are not to be
   * followed. Media are trusted by their `trustTier` alone.
   *
   * @default false: models get results as they are, as in ADK
   */
  markUntrusted?: boolean;
  /**
   * Remembers what users and agents have said, for later sessions of the same user. `true` stands for the defaults.
   *
   * @default false: nothing is remembered
   * @example memory: { embeddings: new GeminiEmbeddings({ embeddingModel: 'gemini-embedding-001' }) }
   */
  memory?: boolean | MemoryOptions;
}

export const APP_DURABLE = {
  retention: option.duration(),
  prices: option.group(resolvePriceTable),
  budgets: option.group(resolveBudgets),
  limits: option.group(resolveLimits),
  runConfig: option.group(resolveRunConfig),
  steps: option.choice(['activity', 'chain']),
  toolFactories: option.group(resolveFactories),
  oauth: option.group(resolveProviders),
  approval: option.group(resolveApprovals),
  notifiers: option.group(resolveNotifiers),
  artifactService: option.custom(artifactServiceOf),
  markUntrusted: option.flag(false),
  memory: option.group(resolveMemory),
} satisfies OptionsFor<AppDurableOptions>;

/** {@link AppDurableOptions} that were checked, their defaults filled in; durations in milliseconds. */
export interface AppSettings extends Resolved<typeof APP_DURABLE> {}

const RUN_CONFIG = {
  maxLlmCalls: option.custom(maxLlmCallsOf),
  streamingMode: option.choice(['none', 'sse']),
  pauseOnToolCalls: option.flag(),
  customMetadata: option.custom(metadataOf),
} satisfies OptionsFor<TurnRunConfig>;

/** @throws DefinitionError naming the option. */
export function resolveAppSettings(owner: string, field: string, options: unknown = {}): AppSettings {
  return readGroup(APP_DURABLE, { owner, options, field });
}

/** Of an app that is named by its turns only. */
export const DEFAULT_APP_SETTINGS: AppSettings = resolveAppSettings('App', 'durable');

/** The run config of a turn: its message's, and for what that leaves out the app's. */
export function runConfigOf({ runConfig }: AppSettings, given: TurnRunConfig = {}): TurnRunConfig {
  const chosen = namesOf(RUN_CONFIG).map((name) => [name, given[name] ?? runConfig[name]]);
  return defined(Object.fromEntries(chosen));
}

const SERVICE_METHODS = [
  'saveArtifact',
  'loadArtifact',
  'listArtifactKeys',
  'deleteArtifact',
  'listVersions',
  'listArtifactVersions',
  'getArtifactVersion',
] satisfies (keyof BaseArtifactService)[];

function artifactServiceOf(given: unknown, read: OptionReader, name: string): BaseArtifactService {
  const missing = SERVICE_METHODS.find((method) => typeof Object(given)[method] !== 'function');
  if (missing === undefined) return given as BaseArtifactService;
  return read.fail(name, `expected an artifact service, got ${kindOf(given)} without ${missing}()`);
}

function resolveRunConfig(owner: string, field: string, options: unknown = {}): Readonly<TurnRunConfig> {
  return readGroup(RUN_CONFIG, { owner, options, field });
}

function maxLlmCallsOf(given: unknown, read: OptionReader, name: string): number {
  if (Number.isSafeInteger(given)) return Number(given);
  const got = typeof given === 'number' ? '' : `, got ${kindOf(given)}`;
  return read.fail(name, `expected a whole number, 0 or less for no limit${got}`);
}

function metadataOf(given: unknown, read: OptionReader, name: string): Record<string, unknown> {
  try {
    const metadata = toJsonValue(given);
    if (isRecord(metadata)) return metadata;
    return read.fail(name, `expected an object of JSON, got ${kindOf(metadata)}`);
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    return read.fail(error.path === '' ? name : `${name}.${error.path}`, error.problem);
  }
}

function resolveFactories(
  owner: string,
  field: string,
  factories: unknown = {},
): ReadonlyMap<string, ToolFactory> {
  if (!isRecord(factories)) {
    const problem = `expected tool factories by name, got ${kindOf(factories)}`;
    throw new DefinitionError({ owner, field, problem });
  }
  const entries: [string, unknown][] = [
    ...(factories instanceof Map ? factories : Object.entries(factories)),
  ];
  const given = entries.filter(([, factory]) => factory !== undefined);
  for (const [name, factory] of given) {
    if (typeof factory === 'function') continue;
    const problem = `expected a function that makes a tool of its arguments, got ${kindOf(factory)}`;
    throw new DefinitionError({ owner, field: `${field}[${JSON.stringify(name)}]`, problem });
  }
  return new Map(given as [string, ToolFactory][]);
}
