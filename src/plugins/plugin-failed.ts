import { codedError } from '../contract/error.ts';
import { thrownField, thrownMessage } from '../schema/thrown-message.ts';
import type { BasePlugin } from './base-plugin.ts';

/** A hook of {@link BasePlugin}. */
export type PluginHook = Exclude<keyof BasePlugin, 'name' | 'close' | symbol>;

/**
 * Parameters of a hook.
 *
 * @example override async onEventCallback({ event }: PluginParams<'onEventCallback'>) { … }
 */
export type PluginParams<Hook extends PluginHook> = Parameters<BasePlugin[Hook]>[0];

interface PluginFailedParams {
  /** Name of the plugin. */
  plugin: string;
  hook: string;
  /** The failure, without the data that the plugin got. */
  problem: string;
  cause?: unknown;
  /** Whether another attempt may succeed. */
  retryable: boolean;
}

/** A plugin's hook threw, or returned what the hook has no use for. Text: `PluginManager` of `@google/adk` 2.0.0. */
export class PluginFailed extends codedError('HOLDFAST_PLUGIN_FAILED') {
  readonly plugin: string;
  readonly hook: string;

  constructor({ plugin, hook, problem, cause, retryable }: PluginFailedParams) {
    super(`Error in plugin '${plugin}' during '${hook}' callback: ${problem}`, { cause, retryable });
    this.plugin = plugin;
    this.hook = hook;
  }
}

/** The failure for an error that a hook threw. Another attempt may succeed, unless the error says no. */
export function pluginThrew(plugin: string, hook: string, thrown: unknown): PluginFailed {
  return new PluginFailed({
    plugin,
    hook,
    problem: thrownText(thrown),
    cause: thrown,
    retryable: thrownField(thrown, 'retryable') !== false,
  });
}

/** As a string template writes an error, which upstream does; anything may have been thrown. */
function thrownText(thrown: unknown): string {
  const message = thrownMessage(thrown);
  const name = thrownField(thrown, 'name');
  const isNamed =
    typeof name === 'string' && name !== '' && typeof thrownField(thrown, 'message') === 'string';
  return isNamed && message !== name ? `${name}: ${message}` : message;
}
