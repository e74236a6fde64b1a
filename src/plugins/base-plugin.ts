import type { BaseAgent } from '../agents/base-agent.ts';
import type { ContextCompactionTrigger } from '../agents/compaction/base-context-compactor.ts';
import type { Content } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import type { LlmResponse } from '../models/llm-response.ts';
import type { BaseTool, LlmRequest } from '../tools/base-tool.ts';
import type { Context } from '../tools/context.ts';
import type { InvocationContext, ToolCallRecord } from '../tools/invocation-context.ts';

const BASE_PLUGIN = Symbol.for('holdfast.basePlugin');

/**
 * Sees all that an app's agents do, before their own callbacks. A hook that returns a value ends the chain: hooks of later
 * plugins and the agent's callbacks aren't asked. Hooks run in activities, on any worker: what a plugin must remember
 * belongs into the state. A crash may run a hook again; what it answered counts once.
 *
 * Semantics: `BasePlugin` of `@google/adk` 2.0.0, without the hooks of nodes and of compaction; `onToolCallCompleted` is ours.
 *
 * @example
 * class Spend extends BasePlugin {
 *   override async afterModelCallback({ callbackContext, llmResponse }: PluginParams<'afterModelCallback'>) {
 *     const spent = callbackContext.state.get('spent', 0) ?? 0;
 *     callbackContext.state.set('spent', spent + (llmResponse.usageMetadata?.totalTokenCount ?? 0));
 *     return undefined;
 *   }
 * }
 */
export abstract class BasePlugin {
  readonly [BASE_PLUGIN] = true;
  /** Unique among the plugins of an app. */
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /**
   * A message begins an invocation; returned content is stored in its place, and so are changes in the message itself. Not called for the
   * message of a retry.
   */
  async onUserMessageCallback(_params: {
    invocationContext: InvocationContext;
    userMessage: Content;
  }): Promise<Content | undefined> {
    return undefined;
  }

  /** Before the first agent. Returned content is the answer, author `model`; no agent and no `afterRunCallback` follow. */
  async beforeRunCallback(_params: { invocationContext: InvocationContext }): Promise<Content | undefined> {
    return undefined;
  }

  /**
   * An event is about to be stored; a returned one takes its place, under its id, invocation and time. Messages of the user
   * don't come here, and neither do the responses with which a later turn closes one that was cut off.
   */
  async onEventCallback(_params: {
    invocationContext: InvocationContext;
    event: Event;
  }): Promise<Event | undefined> {
    return undefined;
  }

  /** The run has ended, completed or failed; not called for an interrupted run. */
  async afterRunCallback(_params: { invocationContext: InvocationContext }): Promise<void> {
    return undefined;
  }

  async beforeAgentCallback(_params: {
    agent: BaseAgent;
    callbackContext: Context;
  }): Promise<Content | undefined> {
    return undefined;
  }

  async afterAgentCallback(_params: {
    agent: BaseAgent;
    callbackContext: Context;
  }): Promise<Content | undefined> {
    return undefined;
  }

  async beforeModelCallback(_params: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<LlmResponse | undefined> {
    return undefined;
  }

  async afterModelCallback(_params: {
    callbackContext: Context;
    llmResponse: LlmResponse;
  }): Promise<LlmResponse | undefined> {
    return undefined;
  }

  async onModelErrorCallback(_params: {
    callbackContext: Context;
    llmRequest: LlmRequest;
    error: Error;
  }): Promise<LlmResponse | undefined> {
    return undefined;
  }

  /** Chooses among the tools of a request; those that are not returned are not offered. */
  async beforeToolSelection(_params: {
    callbackContext: Context;
    tools: Readonly<Record<string, BaseTool>>;
  }): Promise<Readonly<Record<string, BaseTool>> | undefined> {
    return undefined;
  }

  /** Before the context of an agent is compacted. */
  async beforeContextCompaction(_params: {
    invocationContext: InvocationContext;
    trigger: ContextCompactionTrigger;
  }): Promise<void> {}

  async afterContextCompaction(_params: {
    invocationContext: InvocationContext;
    trigger: ContextCompactionTrigger;
  }): Promise<void> {}

  async beforeToolCallback(_params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: Context;
  }): Promise<Record<string, unknown> | undefined> {
    return undefined;
  }

  async afterToolCallback(_params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: Context;
    result: Record<string, unknown>;
  }): Promise<Record<string, unknown> | undefined> {
    return undefined;
  }

  async onToolErrorCallback(_params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: Context;
    error: Error;
  }): Promise<Record<string, unknown> | undefined> {
    return undefined;
  }

  /**
   * A call has its outcome, and it is in the transcript. Called once for each, in call order, before the next model call or at
   * the invocation's end; after a crash perhaps again, under the same `callKey`. It can't change the outcome.
   */
  async onToolCallCompleted(_params: { call: ToolCallRecord; callbackContext: Context }): Promise<void> {
    return undefined;
  }

  /** The worker stops. */
  async close(): Promise<void> {
    return undefined;
  }
}

/** Whether `value` is a plugin, of this or of another copy of the package. */
export function isBasePlugin(value: unknown): value is BasePlugin {
  return typeof value === 'object' && value !== null && BASE_PLUGIN in value && value[BASE_PLUGIN] === true;
}
