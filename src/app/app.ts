import { assertAgents } from '../agents/agents-of-tree.ts';
import { type BaseAgent, isBaseAgent, notARoot, whatItIs } from '../agents/base-agent.ts';
import type { BasePlugin } from '../plugins/base-plugin.ts';
import { checkedPlugins } from '../plugins/plugin-list.ts';
import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import * as option from '../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../schema/options.ts';
import { assertAppName } from './app-name.ts';
import { type AppDurableOptions, type AppSettings, resolveAppSettings } from './app-settings.ts';

const APP = Symbol.for('holdfast.app');

/** Semantics: `ResumabilityConfig` of `@google/adk` 2.0.0; with Holdfast every turn is resumable, with any value. */
export interface ResumabilityConfig {
  /** @default false */
  isResumable?: boolean;
}

const RESUMABILITY = { isResumable: option.flag(false) } satisfies OptionsFor<ResumabilityConfig>;

/** Options of an {@link App}. Fields: `AppOptions` of `@google/adk` 2.0.0, and the durable options. */
export interface AppOptions {
  /** Letters, digits, underscores and hyphens, a letter first; not `user`. Sessions belong to it: keep it. */
  name: string;
  /** Answers if a message names no agent, or the agent of its tree that goes on with the session does. Has no parent. */
  rootAgent: BaseAgent;
  /** See all that the app's agents do, in this order; no two of one name. */
  plugins?: readonly BasePlugin[];
  /** Taken as ADK programs have it. Without it too each turn goes on where a worker has left it. */
  resumabilityConfig?: ResumabilityConfig;
  durable?: AppDurableOptions;
}

const FIELDS = [
  'name',
  'rootAgent',
  'plugins',
  'resumabilityConfig',
  'durable',
] satisfies (keyof AppOptions)[];

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
  readonly rootAgent: BaseAgent;
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
    const problem = noRootAgent(rootAgent);
    if (problem !== undefined) throw new DefinitionError({ owner, field: 'rootAgent', problem });
    this.name = options.name;
    assertAgents([rootAgent]);
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

function checkedResumability(owner: string, options: unknown): Readonly<ResumabilityConfig> {
  return readGroup(RESUMABILITY, { owner, options, field: 'resumabilityConfig' });
}

/** Why a value can't be the agent that a turn begins with; undefined where it can. */
export function noRootAgent(value: unknown): string | undefined {
  if (value === undefined || value === null) return 'rootAgent must be provided.';
  return isBaseAgent(value) ? notARoot(value) : whatItIs(value);
}
