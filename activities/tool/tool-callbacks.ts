import { CallbackFailed, callbackList, callbackThrew } from '../../src/agents/callbacks.ts';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { PluginManager } from '../../src/plugins/plugin-manager.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { toFunctionResponse } from '../../src/tools/function-response.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';
import { describeFailure, errorOf } from './tool-failure.ts';

/** The call as its callbacks see it. */
export interface CalledTool {
  tool: BaseTool;
  /** The model's, as before-callbacks have changed them. */
  args: Record<string, unknown>;
  context: Context;
}

export interface AnsweredCall {
  response: Record<string, unknown>;
  /** An answer took the response's place. */
  replaced: boolean;
}

const HOOKS = ['beforeToolCallback', 'afterToolCallback', 'onToolErrorCallback'] as const;
type ToolHook = (typeof HOOKS)[number];
type Callback<Params> = (params: Params) => unknown;

/**
 * The user code around a call: the plugins of its app, then its agent's callbacks. The first answer wins, and is a response as a
 * tool's result is; a falsy value is no answer. Semantics: `handleFunctionCallList` of `@google/adk` 2.0.0; but arrays are sent as
 * `{ result }`, and after-callbacks see errors as `{ error }`.
 */
export class ToolCallbacks {
  readonly #agent: Pick<LlmAgent, 'name' | ToolHook>;
  readonly #plugins: PluginManager;

  /** For code that a model wrote, which is no tool's call: no callback is asked. */
  static none(agent: Pick<LlmAgent, 'name'>): ToolCallbacks {
    const nobody = { beforeToolCallback: [], afterToolCallback: [], onToolErrorCallback: [] };
    return new ToolCallbacks({ name: agent.name, ...nobody }, new PluginManager());
  }

  constructor(agent: Pick<LlmAgent, 'name' | ToolHook>, plugins: PluginManager) {
    this.#agent = agent;
    this.#plugins = plugins;
  }

  has(hook: ToolHook): boolean {
    return this.#callbacks(hook).length > 0 || this.#plugins.has(hook);
  }

  /** Whether anybody is asked at all: a call without callbacks has nothing prepared for them. */
  get isEmpty(): boolean {
    return !HOOKS.some((hook) => this.has(hook));
  }

  /** Whether any callback runs for a call that has failed for good. */
  get handleFailures(): boolean {
    return this.has('onToolErrorCallback') || this.has('afterToolCallback');
  }

  /**
   * The response in the tool's place, if there is one.
   *
   * @throws CallbackFailed, PluginFailed
   */
  async before({ tool, args, context }: CalledTool): Promise<Record<string, unknown> | undefined> {
    const answer = await this.#plugins.run('beforeToolCallback', {
      tool,
      toolArgs: args,
      toolContext: context,
    });
    if (answer !== undefined) return toFunctionResponse(answer);
    return await this.#ask('beforeToolCallback', { tool, args, context });
  }

  /** @throws CallbackFailed, PluginFailed */
  async after({ tool, args, context }: CalledTool, response: Record<string, unknown>): Promise<AnsweredCall> {
    const answer =
      (await this.#plugins.run('afterToolCallback', {
        tool,
        toolArgs: args,
        toolContext: context,
        result: response,
      })) ??
      (await this.#ask('afterToolCallback', {
        tool,
        args,
        context,
        response,
      }));
    // They may have changed it in place.
    const settled = this.#responseOf('afterToolCallback', answer ?? response);
    return { response: settled, replaced: answer !== undefined };
  }

  /**
   * The response of a call that has failed for good: the answer of an error callback or `{ error }`, then changed by after-callbacks.
   *
   * @param unanswered the response where no callback has one. Defaults to `{ error }`.
   * @throws CallbackFailed, PluginFailed
   */
  async failed(
    call: CalledTool,
    thrown: unknown,
    unanswered: Record<string, unknown> = { error: describeFailure(thrown).message },
  ): Promise<Record<string, unknown>> {
    const recovered = await this.#recover(call, errorOf(thrown));
    return (await this.after(call, recovered ?? unanswered)).response;
  }

  async #recover(
    { tool, args, context }: CalledTool,
    error: Error,
  ): Promise<Record<string, unknown> | undefined> {
    const answer = await this.#plugins.run('onToolErrorCallback', {
      tool,
      toolArgs: args,
      toolContext: context,
      error,
    });
    if (answer !== undefined) return toFunctionResponse(answer);
    const params = { tool, args, context, error };
    return await this.#ask('onToolErrorCallback', params);
  }

  async #ask<Params>(hook: ToolHook, params: Params): Promise<Record<string, unknown> | undefined> {
    const callbacks = this.#callbacks<Params>(hook);
    for (const [index, callback] of callbacks.entries()) {
      const name = callbacks.length === 1 ? hook : `${hook}[${index}]`;
      let answer: unknown;
      try {
        answer = await callback(params);
      } catch (thrown) {
        throw callbackThrew(this.#agent.name, name, thrown);
      }
      if (answer) return this.#responseOf(name, answer);
    }
    return undefined;
  }

  #callbacks<Params>(hook: ToolHook): Callback<Params>[] {
    return callbackList(this.#agent.name, hook, this.#agent[hook] as Callback<Params>[] | undefined);
  }

  #responseOf(callback: string, answer: unknown): Record<string, unknown> {
    try {
      return toFunctionResponse(answer);
    } catch (error) {
      if (!(error instanceof InvalidResultError)) throw error;
      const { message: problem } = error;
      const agent = this.#agent.name;
      throw new CallbackFailed({ agent, callback, problem, cause: error, retryable: false });
    }
  }
}
