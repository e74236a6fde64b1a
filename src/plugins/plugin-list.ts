import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { BasePlugin, isBasePlugin } from './base-plugin.ts';
import type { PluginHook } from './plugin-failed.ts';

/**
 * The plugins of a definition, checked.
 *
 * @param owner whose they are, for messages: `App "shop"`.
 * @param field where they stand in it.
 * @throws DefinitionError naming the plugin.
 */
export function checkedPlugins(owner: string, field: string, plugins: unknown = []): readonly BasePlugin[] {
  if (!Array.isArray(plugins)) {
    throw new DefinitionError({
      owner,
      field,
      problem: `expected a list of plugins, got ${kindOf(plugins)}`,
    });
  }
  const names = new Set<string>();
  for (const [index, plugin] of plugins.entries()) {
    const problem = pluginProblem(plugin, names);
    if (problem !== undefined) throw new DefinitionError({ owner, field: `${field}[${index}]`, problem });
  }
  return Object.freeze([...plugins]);
}

function pluginProblem(plugin: unknown, names: Set<string>): string | undefined {
  if (!isBasePlugin(plugin)) {
    return isForeignPlugin(plugin)
      ? `a plugin of @google/adk; import its class, or BasePlugin, from 'holdfast' instead`
      : `expected a plugin, got ${kindOf(plugin)}`;
  }
  const { name } = plugin;
  const wrong = hooksOf(plugin).find((hook) => !isHook(plugin[hook]));
  if (wrong !== undefined) return `${wrong}: expected a function, got ${kindOf(plugin[wrong])}`;
  if (typeof name !== 'string' || name === '') return 'a plugin without a name; give one to super(name)';
  if (names.has(name)) return `Plugin with name '${name}' already registered.`;
  names.add(name);
  return undefined;
}

function hooksOf(plugin: BasePlugin): PluginHook[] {
  const hooks = Object.getOwnPropertyNames(BasePlugin.prototype).filter((name) => name !== 'constructor');
  return hooks.filter((hook) => hook in plugin) as PluginHook[];
}

/** A field that an option fills, `beforeModelCallback = options.before` for one, may be left undefined. */
function isHook(hook: unknown): boolean {
  return hook === undefined || typeof hook === 'function';
}

/** Plugins of ADK carry no mark, but all have these two. */
function isForeignPlugin(plugin: unknown): boolean {
  return (
    typeof plugin === 'object' &&
    plugin !== null &&
    'beforeRunCallback' in plugin &&
    'onUserMessageCallback' in plugin
  );
}
