import type { BasePlugin } from './base-plugin.ts';

/** A hook of {@link BasePlugin}. */
export type PluginHook = Exclude<keyof BasePlugin, 'name' | 'close' | symbol>;

/**
 * What a hook is given.
 *
 * @example override async onEventCallback({ event }: PluginParams<'onEventCallback'>) { … }
 */
export type PluginParams<Hook extends PluginHook> = Parameters<BasePlugin[Hook]>[0];
