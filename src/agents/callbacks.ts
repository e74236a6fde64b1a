import { codedError } from '../contract/error.ts';
import type { Content } from '../events/content.ts';
import type { LlmResponse } from '../models/llm-response.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { thrownField, thrownMessage } from '../schema/thrown-message.ts';
import type { BaseTool, LlmRequest } from '../tools/base-tool.ts';
import type { Context } from '../tools/context.ts';

type Maybe<T> = T | undefined | Promise<T | undefined>;
type OneOrMore<T> = T | T[];

/**
 * Callbacks run in activities: a crash, or a failed model call, may run one again, so it should be idempotent. Its answer, and the
 * state that it wrote, count once. In a list the first that returns a value wins, and the rest is not called. Signatures:
 * `@google/adk` 2.0.0; the error callbacks are those of adk-python.
 */
export type SingleAgentCallback = (context: Context) => Maybe<Content>;
/** Returned content is the agent's answer, and ends the invocation: the agent does not run. */
export type BeforeAgentCallback = OneOrMore<SingleAgentCallback>;
/** Returned content comes after the agent's answer. */
export type AfterAgentCallback = OneOrMore<SingleAgentCallback>;

/** Changes the request in place, or returns the answer: then the model isn't asked, and after-callbacks don't run. */
export type SingleBeforeModelCallback = (params: {
  context: Context;
  request: LlmRequest;
}) => Maybe<LlmResponse>;
export type BeforeModelCallback = OneOrMore<SingleBeforeModelCallback>;

/** Sees every response of a stream, partial ones too; returns what takes its place. */
export type SingleAfterModelCallback = (params: {
  context: Context;
  response: LlmResponse;
}) => Maybe<LlmResponse>;
export type AfterModelCallback = OneOrMore<SingleAfterModelCallback>;

/** Asked once no attempt follows any more; returns the answer that takes the error's place. */
export type SingleOnModelErrorCallback = (params: {
  context: Context;
  request: LlmRequest;
  error: Error;
}) => Maybe<LlmResponse>;
export type OnModelErrorCallback = OneOrMore<SingleOnModelErrorCallback>;

/** Changes the arguments in place, or returns the response: then the tool doesn't run. */
export type SingleBeforeToolCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
}) => Maybe<Record<string, unknown>>;
export type BeforeToolCallback = OneOrMore<SingleBeforeToolCallback>;

/** Sees the response, also an error's (`{ error }`) or that of a before-callback; returns a response in its place. */
export type SingleAfterToolCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
  response: Record<string, unknown>;
}) => Maybe<Record<string, unknown>>;
export type AfterToolCallback = OneOrMore<SingleAfterToolCallback>;

/** Asked once no attempt follows any more; returns the response that takes the error's place. */
export type SingleOnToolErrorCallback = (params: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
  error: Error;
}) => Maybe<Record<string, unknown>>;
export type OnToolErrorCallback = OneOrMore<SingleOnToolErrorCallback>;

/**
 * The callbacks of a field that takes one or a list of them.
 *
 * @throws DefinitionError naming the field, and the place in the list.
 */
export function callbackList<Callback>(
  owner: string,
  field: string,
  given: Callback | readonly Callback[] | undefined,
): Callback[] {
  if (given === undefined) return [];
  if (typeof given === 'function') return [given as Callback];
  if (!Array.isArray(given)) {
    const problem = `expected a function or a list of functions, got ${kindOf(given)}`;
    throw new DefinitionError({ owner, field, problem });
  }
  // By index, because an array may have holes.
  for (let index = 0; index < given.length; index += 1) {
    if (typeof given[index] === 'function') continue;
    const problem = `expected a function, got ${kindOf(given[index])}`;
    throw new DefinitionError({ owner, field: `${field}[${index}]`, problem });
  }
  return [...given];
}

export interface CallbackFailedParams {
  /** Name of the agent. */
  agent: string;
  /** As its configuration calls it: `beforeModelCallback[1]`, `request processor Redactor`. */
  callback: string;
  /** The failure, without the data that the callback got. */
  problem: string;
  cause?: unknown;
  /** Whether another attempt may succeed. */
  retryable: boolean;
}

/** A callback or a processor of an agent threw, or returned what nothing can be made of. */
export class CallbackFailed extends codedError('HOLDFAST_CALLBACK_FAILED') {
  readonly agent: string;
  readonly callback: string;

  constructor({ agent, callback, problem, cause, retryable }: CallbackFailedParams) {
    super(`${callback} of agent "${agent}" failed: ${problem}`, { cause, retryable });
    this.agent = agent;
    this.callback = callback;
  }
}

/** The failure for an error that a callback threw. Another attempt may succeed, unless the error says no. */
export function callbackThrew(agent: string, callback: string, thrown: unknown): CallbackFailed {
  return new CallbackFailed({
    agent,
    callback,
    problem: thrownMessage(thrown),
    cause: thrown,
    retryable: thrownField(thrown, 'retryable') !== false,
  });
}
