import type { BasePlugin } from './base-plugin.ts';
import { readAnswer } from './plugin-answer.ts';
import { PluginFailed, type PluginHook, type PluginParams, pluginThrew } from './plugin-failed.ts';
import { checkedPlugins } from './plugin-list.ts';

export type { PluginHook };

type Answer<Hook extends PluginHook> = Awaited<ReturnType<BasePlugin[Hook]>>;

/** Their answers don't count, so that all plugins are told, also if one of them fails. */
const NOTICES: readonly PluginHook[] = [
  'afterContextCompaction',
  'afterRunCallback',
  'beforeContextCompaction',
  'onToolCallCompleted',
];

/**
 * Asks an app's plugins, in order, until one answers. Semantics: `PluginManager` of `@google/adk` 2.0.0; `has`, `run` and
 * `close` are ours, and a plugin that returns null has not answered.
 */
export class PluginManager {
  #plugins: readonly BasePlugin[];
  readonly #having = new Map<PluginHook, readonly BasePlugin[]>();

  /** @throws DefinitionError for a value that is no plugin, and for two of one name. */
  constructor(plugins: readonly BasePlugin[] = []) {
    this.#plugins = checkedPlugins('PluginManager', 'plugins', plugins);
  }

  get plugins(): readonly BasePlugin[] {
    return this.#plugins;
  }

  get hasPlugins(): boolean {
    return this.#plugins.length > 0;
  }

  /** @throws DefinitionError for a value that is no plugin, and for a name that is taken. */
  registerPlugin(plugin: BasePlugin): void {
    this.#plugins = checkedPlugins('PluginManager', 'plugins', [...this.#plugins, plugin]);
    this.#having.clear();
  }

  getPlugin(name: string): BasePlugin | undefined {
    return this.#plugins.find((plugin) => plugin.name === name);
  }

  /** Whether a plugin has this hook: where none has, nothing need be prepared for it. */
  has(hook: PluginHook): boolean {
    return this.#pluginsWith(hook).length > 0;
  }

  /**
   * The first answer that is neither undefined nor null, as JSON carries it. Of hooks that have no answer
   * (`afterRunCallback`, `onToolCallCompleted`, those of compaction) each is called, and their errors are thrown after the last.
   *
   * @throws PluginFailed for an error of a plugin, and for an answer that doesn't fit the hook.
   */
  async run<Hook extends PluginHook>(
    hook: Hook,
    params: PluginParams<Hook>,
  ): Promise<Answer<Hook> | undefined> {
    if (NOTICES.includes(hook)) {
      await this.#notifyAll(hook, params);
      return undefined;
    }
    for (const plugin of this.#pluginsWith(hook)) {
      const answer = await call(plugin, hook, params);
      if (answer === undefined || answer === null) continue;
      const read = readAnswer(hook, answer);
      if ('value' in read) return read.value as Answer<Hook>;
      throw new PluginFailed({ plugin: plugin.name, hook, problem: read.problem, retryable: false });
    }
    return undefined;
  }

  runOnUserMessageCallback(params: PluginParams<'onUserMessageCallback'>) {
    return this.run('onUserMessageCallback', params);
  }

  runBeforeRunCallback(params: PluginParams<'beforeRunCallback'>) {
    return this.run('beforeRunCallback', params);
  }

  runOnEventCallback(params: PluginParams<'onEventCallback'>) {
    return this.run('onEventCallback', params);
  }

  async runAfterRunCallback(params: PluginParams<'afterRunCallback'>): Promise<void> {
    await this.run('afterRunCallback', params);
  }

  runBeforeAgentCallback(params: PluginParams<'beforeAgentCallback'>) {
    return this.run('beforeAgentCallback', params);
  }

  runAfterAgentCallback(params: PluginParams<'afterAgentCallback'>) {
    return this.run('afterAgentCallback', params);
  }

  runBeforeModelCallback(params: PluginParams<'beforeModelCallback'>) {
    return this.run('beforeModelCallback', params);
  }

  runAfterModelCallback(params: PluginParams<'afterModelCallback'>) {
    return this.run('afterModelCallback', params);
  }

  runOnModelErrorCallback(params: PluginParams<'onModelErrorCallback'>) {
    return this.run('onModelErrorCallback', params);
  }

  runBeforeContextCompaction(params: PluginParams<'beforeContextCompaction'>) {
    return this.run('beforeContextCompaction', params);
  }

  runAfterContextCompaction(params: PluginParams<'afterContextCompaction'>) {
    return this.run('afterContextCompaction', params);
  }

  runBeforeToolSelection(params: PluginParams<'beforeToolSelection'>) {
    return this.run('beforeToolSelection', params);
  }

  runBeforeToolCallback(params: PluginParams<'beforeToolCallback'>) {
    return this.run('beforeToolCallback', params);
  }

  runAfterToolCallback(params: PluginParams<'afterToolCallback'>) {
    return this.run('afterToolCallback', params);
  }

  runOnToolErrorCallback(params: PluginParams<'onToolErrorCallback'>) {
    return this.run('onToolErrorCallback', params);
  }

  /**
   * Closes all plugins, beginning with the last; none waits for another one.
   *
   * @throws PluginFailed when all are done.
   */
  async close(): Promise<void> {
    const closings = this.#plugins.toReversed().map(async (plugin) => {
      try {
        await plugin.close?.();
        return [];
      } catch (error) {
        return [pluginThrew(plugin.name, 'close', error)];
      }
    });
    throwAll((await Promise.all(closings)).flat());
  }

  async #notifyAll<Hook extends PluginHook>(hook: Hook, params: PluginParams<Hook>): Promise<void> {
    const failures: PluginFailed[] = [];
    for (const plugin of this.#pluginsWith(hook)) {
      try {
        await call(plugin, hook, params);
      } catch (error) {
        failures.push(error as PluginFailed);
      }
    }
    throwAll(failures);
  }

  #pluginsWith(hook: PluginHook): readonly BasePlugin[] {
    const known = this.#having.get(hook);
    if (known !== undefined) return known;
    const having = this.#plugins.filter((plugin) => overrides(plugin, hook));
    this.#having.set(hook, having);
    return having;
  }
}

async function call<Hook extends PluginHook>(
  plugin: BasePlugin,
  hook: Hook,
  params: PluginParams<Hook>,
): Promise<unknown> {
  try {
    return await (plugin[hook] as (params: PluginParams<Hook>) => Promise<unknown>).call(plugin, params);
  } catch (error) {
    throw pluginThrew(plugin.name, hook, error);
  }
}

function throwAll(failures: readonly PluginFailed[]): void {
  const [first, ...others] = failures;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  throw new PluginFailed({
    plugin: first.plugin,
    hook: first.hook,
    problem: [ownMessage(first), ...others.map(({ message }) => message)].join('; '),
    cause: new AggregateError(failures),
    retryable: failures.every(({ retryable }) => retryable),
  });
}

function ownMessage({ message, plugin, hook }: PluginFailed): string {
  return message.replace(`Error in plugin '${plugin}' during '${hook}' callback: `, '');
}

/** BasePlugin may be that of another copy of the package, so it is found as the root of the plugin's classes. */
function overrides(plugin: BasePlugin, hook: PluginHook): boolean {
  let base: object = plugin;
  for (
    let above = Object.getPrototypeOf(base);
    above !== null && above !== Object.prototype;
    above = Object.getPrototypeOf(above)
  ) {
    base = above;
  }
  return plugin[hook] !== undefined && plugin[hook] !== (base as Partial<BasePlugin>)[hook];
}
