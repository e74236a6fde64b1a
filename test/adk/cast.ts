import { z } from 'zod';
import type { BasePlugin, BaseTool, Context, LlmAgent } from '../../src/index.ts';
import type { Library } from './scenario.ts';
import { calls, type ScriptedLlm } from './scripted-llm.ts';

type AgentConfig = ConstructorParameters<Library['LlmAgent']>[0];

/** ADK tries nothing twice. */
const once = { maximumAttempts: 1 };

export const agentOf = (
  library: Library,
  name: string,
  model: ScriptedLlm,
  more: Partial<AgentConfig> = {},
): LlmAgent => new library.LlmAgent({ name, model, instruction: 'Be brief.', modelRetry: once, ...more });

export const weatherOf = (
  library: Library,
  execute: (args: { city: string }, context: Context) => unknown = () => ({ celsius: 3 }),
): BaseTool =>
  new library.FunctionTool({
    name: 'weather',
    description: 'Tells the weather.',
    parameters: z.object({ city: z.string() }),
    execute,
    retry: once,
  });

/** A tool without parameters. */
export const toolOf = (
  library: Library,
  name: string,
  execute: (args: Record<string, unknown>, context: Context) => unknown,
  more: { isLongRunning?: boolean; isConcurrencySafe?: boolean } = {},
): BaseTool => new library.FunctionTool({ name, description: `Is ${name}.`, execute, retry: once, ...more });

export const pluginOf = (
  library: Library,
  name: string,
  hooks: Partial<Omit<BasePlugin, 'name'>>,
): BasePlugin => {
  class Plugin extends library.BasePlugin {}
  return Object.assign(new Plugin(name), hooks);
};

/** Made anew each time: ADK writes ids into what callbacks return. */
export const askWeather = () => calls(['weather', { city: 'Oslo' }]);
