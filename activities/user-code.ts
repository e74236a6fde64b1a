import type { BaseAgent } from '../src/agents/base-agent.ts';
import { CallbackFailed, callbackThrew } from '../src/agents/callback-failed.ts';
import type { BasePlugin } from '../src/plugins/base-plugin.ts';
import { readAnswer } from '../src/plugins/plugin-answer.ts';
import { PluginFailed } from '../src/plugins/plugin-failed.ts';
import type { PluginHook, PluginManager } from '../src/plugins/plugin-manager.ts';
import type { StepTime } from './model/step-time.ts';

type Params<Hook extends PluginHook> = Parameters<BasePlugin[Hook]>[0];
type Answer<Hook extends PluginHook> = Awaited<ReturnType<BasePlugin[Hook]>>;

/** Hooks that agents have callbacks for, under the same names. */
type SharedHook =
  | 'beforeAgentCallback'
  | 'afterAgentCallback'
  | 'beforeModelCallback'
  | 'afterModelCallback'
  | 'onModelErrorCallback';

type Callback<Given> = (given: Given) => unknown;

/** The plugins of an app and the callbacks of an agent, asked in their order and waited for no longer than the step may take. */
export class UserCode<Agent extends BaseAgent = BaseAgent> {
  readonly agent: Agent;
  readonly plugins: PluginManager;
  readonly #time: StepTime;

  constructor(agent: Agent, plugins: PluginManager, time: StepTime) {
    this.agent = agent;
    this.plugins = plugins;
    this.#time = time;
  }

  /**
   * The answer of the first plugin that has one.
   *
   * @throws PluginFailed
   */
  async plugin<Hook extends PluginHook>(hook: Hook, params: Params<Hook>): Promise<Answer<Hook> | undefined> {
    if (!this.plugins.has(hook)) return undefined;
    return await this.#time.race(this.plugins.run(hook, params), (problem) => {
      const plugin = this.plugins.plugins.map(({ name }) => name).join(', ');
      return new PluginFailed({ plugin, hook, problem, retryable: true });
    });
  }

  /**
   * The answer of the first plugin, else of the agent's first callback, that has one. What is falsy is none, as in
   * `@google/adk` 2.0.0.
   *
   * @throws PluginFailed, CallbackFailed
   */
  async first<Hook extends SharedHook, Given>(
    hook: Hook,
    params: Params<Hook>,
    callbacks: readonly Callback<Given>[],
    given: Given,
  ): Promise<Answer<Hook> | undefined> {
    const answer = await this.plugin(hook, params);
    if (answer !== undefined) return answer;
    for (const [index, callback] of callbacks.entries()) {
      const name = callbacks.length === 1 ? hook : `${hook}[${index}]`;
      const own = await this.callback(name, async () => await callback(given));
      if (!own) continue;
      const read = readAnswer(hook, own);
      if ('value' in read) return read.value as Answer<Hook>;
      throw new CallbackFailed({
        agent: this.agent.name,
        callback: name,
        problem: read.problem,
        retryable: false,
      });
    }
    return undefined;
  }

  /**
   * @param name as the agent's configuration has it.
   * @throws CallbackFailed
   */
  async callback<T>(name: string, run: () => Promise<T>): Promise<T> {
    const agent = this.agent.name;
    const work = async () => {
      try {
        return await run();
      } catch (thrown) {
        throw thrown instanceof CallbackFailed ? thrown : callbackThrew(agent, name, thrown);
      }
    };
    return await this.#time.race(
      work(),
      (problem) => new CallbackFailed({ agent, callback: name, problem, retryable: true }),
    );
  }
}
