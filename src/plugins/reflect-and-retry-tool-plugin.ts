import { shownArguments, textWithoutSecrets } from '../approvals/sensitive.ts';
import { excerpt } from '../protocol/visible-text.ts';
import * as option from '../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../schema/options.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import { type Context, questionsOf } from '../tools/context.ts';
import { BasePlugin } from './base-plugin.ts';
import type { PluginParams } from './plugin-failed.ts';
import { shownJson } from './plugin-logger.ts';
import { REFLECT_AND_RETRY_RESPONSE_TYPE, sensitiveIn, type ToolFailureResponse } from './withheld.ts';

const LONGEST_ARGUMENTS = 2_000;

/** Where failures are counted. */
export const TrackingScope = { INVOCATION: 'invocation', GLOBAL: 'global' } as const;
export type TrackingScope = (typeof TrackingScope)[keyof typeof TrackingScope];

export interface ReflectAndRetryToolPluginOptions {
  /** @default 'reflect_retry_tool_plugin' */
  name?: string;
  /**
   * Failures in a row of one tool after which the model is told to try again. 0: none.
   *
   * @default 3
   */
  maxRetries?: number;
  /**
   * `'invocation'` counts anew for each message, `'global'` for all sessions of the app.
   *
   * @default 'invocation'
   */
  scope?: TrackingScope;
  /**
   * The failure after the last retry is left as it is, for later plugins, the agent's callbacks and the model; otherwise the
   * model is told not to use the tool again.
   *
   * @default false
   */
  errorIfRetryExceeded?: boolean;
  /** Another name of `scope`. */
  trackingScope?: TrackingScope;
  /** Another name of `errorIfRetryExceeded`. */
  throwExceptionIfRetryExceeded?: boolean;
}

type CallParams = PluginParams<'beforeToolCallback'>;

const scope = option.choice(['invocation', 'global']);

export const REFLECT_AND_RETRY = {
  name: option.text('reflect_retry_tool_plugin'),
  maxRetries: option.checked(option.number(0, 3), (retries) =>
    Number.isSafeInteger(retries) ? undefined : 'expected a whole number, 0 or more',
  ),
  scope,
  errorIfRetryExceeded: option.flag(),
  trackingScope: scope,
  throwExceptionIfRetryExceeded: option.flag(),
} satisfies OptionsFor<ReflectAndRetryToolPluginOptions>;

/**
 * Answers a tool's final failure with advice to reflect and call again, up to a number of failures in a row; a success
 * begins anew. The counters are in the state (`temp:_adk_…`, or `app:_adk_…` for the global scope), so they survive
 * workers; calls of one step that fail side by side count once, since none could learn from another.
 *
 * Semantics: `ReflectAndRetryToolPlugin` of adk-python and adk-js, and `retryandreflect` of adk-go.
 *
 * @throws DefinitionError from the constructor, naming the option.
 * @example new ReflectAndRetryToolPlugin({ maxRetries: 2 })
 */
export class ReflectAndRetryToolPlugin extends BasePlugin {
  readonly maxRetries: number;
  readonly scope: TrackingScope;
  readonly errorIfRetryExceeded: boolean;

  constructor(options: ReflectAndRetryToolPluginOptions = {}) {
    const read = readGroup(REFLECT_AND_RETRY, { owner: new.target.name, options });
    super(read.name);
    this.maxRetries = read.maxRetries;
    this.scope = read.scope ?? read.trackingScope ?? 'invocation';
    this.errorIfRetryExceeded = read.errorIfRetryExceeded ?? read.throwExceptionIfRetryExceeded ?? false;
  }

  override async onToolErrorCallback(
    call: PluginParams<'onToolErrorCallback'>,
  ): Promise<Record<string, unknown> | undefined> {
    return this.#answerTo(call, call.error);
  }

  override async afterToolCallback(
    call: PluginParams<'afterToolCallback'>,
  ): Promise<Record<string, unknown> | undefined> {
    const { result, tool, toolContext } = call;
    if (result?.response_type === REFLECT_AND_RETRY_RESPONSE_TYPE) return undefined;
    const error = await this.extractErrorFromResult(call);
    if (error !== undefined && error !== null) return this.#answerTo(call, error);
    // A failure that was left as it is.
    if (typeof result?.error === 'string') return undefined;
    const key = this.counterKey(toolContext, tool.name);
    if (failuresIn(toolContext, key) > 0) toolContext.state.set(key, 0);
    return undefined;
  }

  /**
   * Override it to find errors in what a tool returns.
   *
   * @returns an error, or what says what is wrong; undefined for a success.
   */
  async extractErrorFromResult(_call: PluginParams<'afterToolCallback'>): Promise<unknown> {
    return undefined;
  }

  /** The key of the state under which a tool's failures are counted; its prefix says how long and for whom. */
  protected counterKey(_toolContext: Context, tool: string): string {
    return `${this.scope === 'global' ? 'app:' : 'temp:'}_adk_${this.name}:${tool}`;
  }

  #answerTo(call: CallParams, error: unknown): Record<string, unknown> | undefined {
    const { tool, toolContext } = call;
    if (isOfGate(toolContext)) return undefined;
    if (this.maxRetries > 0) {
      const key = this.counterKey(toolContext, tool.name);
      const failures = failuresIn(toolContext, key) + 1;
      toolContext.state.set(key, failures);
      if (failures <= this.maxRetries) {
        return { ...this.#failure(call, error, failures, retryAdvice(failures, this.maxRetries)) };
      }
    }
    if (this.errorIfRetryExceeded) return undefined;
    return { ...this.#failure(call, error, this.maxRetries, lastAdvice(tool.name, this.maxRetries)) };
  }

  #failure(
    { tool, toolArgs }: CallParams,
    error: unknown,
    retryCount: number,
    advice: string,
  ): ToolFailureResponse {
    const type = typeOf(error);
    const sensitive = sensitiveIn(tool, toolArgs);
    const details = textWithoutSecrets(thrownMessage(error), toolArgs, sensitive);
    const args = shownJson(shownArguments(toolArgs, sensitive));
    return {
      response_type: REFLECT_AND_RETRY_RESPONSE_TYPE,
      error_type: type,
      error_details: details,
      retry_count: retryCount,
      reflection_guidance:
        `The tool \`${tool.name}\` failed.\nError: ${type}: ${details}\n` +
        `Arguments: ${excerpt(args, LONGEST_ARGUMENTS)}\n\n${advice}`,
    };
  }
}

function retryAdvice(failures: number, most: number): string {
  return (
    `This is retry ${failures} of ${most}. Before you call the tool again, say to yourself why it failed: arguments that are ` +
    'wrong, missing or of another format than its schema asks for; something that has to be done first; the wrong tool for ' +
    'this task, or one that does not exist. Then do it differently: the same call again would fail again. Smaller steps may help.'
  );
}

function lastAdvice(tool: string, most: number): string {
  return (
    `No retries are left${most === 0 ? '' : ` after ${most}`}. Do not call \`${tool}\` again for this task. Go another way, with ` +
    'other tools where there are any, or tell the user what could not be done.'
  );
}

function failuresIn({ state }: Context, key: string): number {
  const failures = state.get<unknown>(key);
  return typeof failures === 'number' && failures > 0 ? failures : 0;
}

/** A call that waits for a person's word, or got a no, is no failure of its tool. */
function isOfGate(context: Context): boolean {
  return (
    questionsOf(context).asked !== undefined ||
    Object.keys(context.actions.requestedToolConfirmations ?? {}).length > 0 ||
    context.toolConfirmation?.confirmed === false
  );
}

/** Tools wrap what they throw; the model is told its class. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'ToolError';
  const thrown = error.name === 'ToolExecutionError' && error.cause instanceof Error ? error.cause : error;
  return thrown.name || 'Error';
}
