import { codedError } from '../contract/error.ts';
import { thrownField, thrownMessage } from '../schema/thrown-message.ts';
import type { BasePlugin } from './base-plugin.ts';

/** A hook of {@link BasePlugin}. */
export type PluginHook = Exclude<keyof BasePlugin, 'name' | 'close' | symbol>;

/**
 * What a hook is given.
 *
 * @example override async onEventCallback({ event }: PluginParams<'onEventCallback'>) { … }
 */
export type PluginParams<Hook extends PluginHook> = Parameters<BasePlugin[Hook]>[0];

interface PluginFailedParams {
  /** Name of the plugin. */
  plugin: string;
  hook: string;
  /** What went wrong, without what the plugin was told. */
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

/** What a hook threw; another attempt may succeed, unless it says no. */
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
