import type { BasePlugin } from '../plugins/base-plugin.ts';
import { checkedPlugins } from '../plugins/plugin-list.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';
import { assertAppName } from './app-name.ts';
import { type AppDurableOptions, type AppSettings, resolveAppSettings } from './app-settings.ts';
import { isBaseAgent } from './base-agent.ts';
import { isLlmAgent, type LlmAgent } from './llm-agent.ts';

const APP = Symbol.for('holdfast.app');
const FIELDS = ['name', 'rootAgent', 'plugins', 'resumabilityConfig', 'durable'];
const ADK_AGENT = Symbol.for('google.adk.baseAgent');

/** Semantics: `ResumabilityConfig` of `@google/adk` 2.0.0; with Holdfast every turn is resumable, whatever it says. */
export interface ResumabilityConfig {
  /** @default false */
  isResumable?: boolean;
}

/** Options of an {@link App}. Fields: `AppOptions` of `@google/adk` 2.0.0, and the durable options. */
export interface AppOptions {
  /** Letters, digits, underscores and hyphens, a letter first; not `user`. Sessions belong to it: keep it. */
  name: string;
  /** Answers where neither turn nor session names an agent. */
  rootAgent: LlmAgent;
  /** See all that the app's agents do, in this order; no two of one name. */
  plugins?: readonly BasePlugin[];
  /** Taken as ADK programs have it. Without it too each turn goes on where a worker has left it. */
  resumabilityConfig?: ResumabilityConfig;
  durable?: AppDurableOptions;
}

/**
 * The settings of one product or customer, whose sessions and state are apart from those of all others. Semantics: `App`
 * of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * export const app = new App({
 *   name: 'shop',
 *   rootAgent,
 *   durable: {
 *     prices: { 'gemini-2.5-flash': { input: 0.3, output: 2.5 } },
 *     budgets: { turn: { cost: 0.5, time: '1 day' }, session: { tokens: 5_000_000 } },
 *   },
 * });
 */
export class App {
  readonly [APP] = true;
  readonly name: string;
  readonly rootAgent: LlmAgent;
  readonly plugins: readonly BasePlugin[];
  readonly resumabilityConfig?: Readonly<ResumabilityConfig>;
  /** How Holdfast runs the app: its durable options with their defaults, milliseconds. */
  readonly durable: AppSettings;

  constructor(options: AppOptions) {
    const kind = new.target.name || 'App';
    if (!isRecord(options)) {
      throw new DefinitionError({ owner: kind, problem: `expected an object, got ${kindOf(options)}` });
    }
    assertAppName(kind, options.name);
    const owner = appOwner(options.name, kind);
    const { rootAgent, plugins, resumabilityConfig, durable } = options;
    assertKnownFields(owner, options, FIELDS);
    if (!isLlmAgent(rootAgent)) {
      throw new DefinitionError({ owner, field: 'rootAgent', problem: notAnLlmAgent(rootAgent) });
    }
    this.name = options.name;
    this.rootAgent = rootAgent;
    this.plugins = checkedPlugins(owner, 'plugins', plugins);
    if (resumabilityConfig !== undefined) {
      this.resumabilityConfig = checkedResumability(owner, resumabilityConfig);
    }
    this.durable = resolveAppSettings(owner, 'durable', durable);
    if (new.target === App) Object.freeze(this);
  }
}

/** Whether `value` is an {@link App}, of this or of another copy of the package. */
export function isApp(value: unknown): value is App {
  return typeof value === 'object' && value !== null && APP in value && value[APP] === true;
}

/** How messages call an app. */
export function appOwner(name: string, kind = 'App'): string {
  return `${kind} "${name}"`;
}

function checkedResumability(owner: string, config: unknown): Readonly<ResumabilityConfig> {
  const field = 'resumabilityConfig';
  assertKnownFields(owner, config, ['isResumable'], { field });
  const read = new OptionReader(owner, config, field);
  return Object.freeze({ isResumable: read.boolean('isResumable', false) });
}

/** What a value is that stands where an {@link LlmAgent} should, for messages. */
export function notAnLlmAgent(value: unknown): string {
  if (value === undefined || value === null) return 'rootAgent must be provided.';
  if (typeof value === 'object' && ADK_AGENT in value) {
    return `an agent of @google/adk; import its class from 'holdfast' instead`;
  }
  if (isBaseAgent(value))
    return `expected an LlmAgent, got another BaseAgent, which this release doesn't run`;
  return `expected an LlmAgent, got ${kindOf(value)}`;
}
