import { DefinitionError } from '../schema/definition-error.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { assertAppName } from './app-name.ts';
import { type AppDurableOptions, type AppSettings, resolveAppSettings } from './app-settings.ts';
import { isLlmAgent, type LlmAgent } from './llm-agent.ts';

const APP = Symbol.for('holdfast.app');
const ADK_AGENT = Symbol.for('google.adk.baseAgent');

/** Options of an {@link App}. Fields: `AppOptions` of `@google/adk` 2.0.0, and the durable options. */
export interface AppOptions {
  /** Letters, digits, underscores and hyphens, a letter first; not `user`. Sessions belong to it: keep it. */
  name: string;
  /** Answers where neither turn nor session names an agent. */
  rootAgent: LlmAgent;
  /** This release has no plugins: only an empty list is taken. */
  plugins?: readonly never[];
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
  readonly plugins: readonly never[];
  /** How Holdfast runs the app: its durable options with their defaults, milliseconds. */
  readonly durable: AppSettings;

  constructor(options: AppOptions) {
    const kind = new.target.name || 'App';
    if (!isRecord(options)) {
      throw new DefinitionError({ owner: kind, problem: `expected an object, got ${kindOf(options)}` });
    }
    assertAppName(kind, options.name);
    const owner = appOwner(options.name, kind);
    const { rootAgent, plugins, durable } = options;
    const isPlain = plugins === undefined || (Array.isArray(plugins) && plugins.length === 0);
    assertKnownFields(owner, options, ['name', 'rootAgent', 'durable', ...(isPlain ? ['plugins'] : [])], {
      unsupported: ['plugins', 'resumabilityConfig'],
    });
    if (!isLlmAgent(rootAgent)) {
      throw new DefinitionError({ owner, field: 'rootAgent', problem: whatItIs(rootAgent) });
    }
    this.name = options.name;
    this.rootAgent = rootAgent;
    this.plugins = Object.freeze([]);
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

function whatItIs(value: unknown): string {
  if (value === undefined || value === null) return 'rootAgent must be provided.';
  if (typeof value === 'object' && ADK_AGENT in value) {
    return `an agent of @google/adk; import its class from 'holdfast' instead`;
  }
  return `expected an LlmAgent, got ${kindOf(value)}`;
}
