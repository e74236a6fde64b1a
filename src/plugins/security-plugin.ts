import type { FunctionCall } from '../events/content.ts';
import { type Event, getFunctionCalls } from '../events/event.ts';
import { REQUEST_CONFIRMATION_FUNCTION_CALL_NAME } from '../events/request-calls.ts';
import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import { BasePlugin } from './base-plugin.ts';
import type { PluginParams } from './plugin-failed.ts';

/** The decision of a policy about a call. Values: `PolicyOutcome` of `@google/adk` 2.0.0. */
export const PolicyOutcome = { DENY: 'DENY', CONFIRM: 'CONFIRM', ALLOW: 'ALLOW' } as const;

export type PolicyOutcome = (typeof PolicyOutcome)[keyof typeof PolicyOutcome];

export interface PolicyCheckResult {
  /** One of {@link PolicyOutcome}; anything else denies. */
  outcome: string;
  /** For people and, where the call is denied, for the model. */
  reason?: string;
}

export interface ToolCallPolicyContext {
  tool: BaseTool;
  toolArgs: Record<string, unknown>;
}

/** Decides which calls run, which don't, and which a person is asked about. Fields: those of `@google/adk` 2.0.0. */
export interface BasePolicyEngine {
  evaluate(context: ToolCallPolicyContext): Promise<PolicyCheckResult>;
}

/** Lets all calls pass, for trying things out. Semantics: the class of `@google/adk` 2.0.0. */
export class InMemoryPolicyEngine implements BasePolicyEngine {
  async evaluate(_context: ToolCallPolicyContext): Promise<PolicyCheckResult> {
    return {
      outcome: PolicyOutcome.ALLOW,
      reason: 'For prototyping purpose, all tool calls are allowed.',
    };
  }
}

/**
 * Has a policy decide about each call before it runs. Semantics: `SecurityPlugin` of `@google/adk` 2.0.0, which keeps the policy's
 * decision in the session's state, and lets a call run after an unknown decision.
 *
 * @throws DefinitionError from the constructor for a value that is no policy engine.
 * @example
 * const policyEngine = {
 *   evaluate: async ({ tool }) => ({ outcome: tool.isReadOnly ? PolicyOutcome.ALLOW : PolicyOutcome.CONFIRM }),
 * };
 * new App({ name: 'shop', rootAgent, plugins: [new SecurityPlugin({ policyEngine })] });
 */
export class SecurityPlugin extends BasePlugin {
  readonly #policyEngine: BasePolicyEngine;

  constructor(params: { policyEngine?: BasePolicyEngine } = {}) {
    const owner = new.target.name;
    assertKnownFields(owner, params, ['policyEngine']);
    super('security_plugin');
    const { policyEngine = new InMemoryPolicyEngine() }: { policyEngine?: BasePolicyEngine } = params;
    if (!isRecord(policyEngine) || typeof policyEngine.evaluate !== 'function') {
      const problem = 'expected an object with a function evaluate';
      throw new DefinitionError({ owner, field: 'policyEngine', problem });
    }
    this.#policyEngine = policyEngine;
  }

  override async beforeToolCallback({
    tool,
    toolArgs,
    toolContext,
  }: PluginParams<'beforeToolCallback'>): Promise<Record<string, unknown> | undefined> {
    const { toolConfirmation } = toolContext;
    // It is asked again only where it has asked a person: about these arguments.
    if (toolConfirmation !== undefined) {
      return toolConfirmation.confirmed === true
        ? undefined
        : { error: 'Tool call rejected from confirmation flow.' };
    }
    const { outcome, reason } = await this.#policyEngine.evaluate({
      tool,
      toolArgs: structuredClone(toolArgs),
    });
    if (outcome === PolicyOutcome.ALLOW) return undefined;
    if (outcome !== PolicyOutcome.CONFIRM) {
      return { error: `This tool call is rejected by policy engine. Reason: ${reason}` };
    }
    const hint = `Policy engine requires confirmation calling tool: ${tool.name}. Reason: ${reason}`;
    toolContext.requestConfirmation({ hint });
    return { partial: 'This tool call needs external confirmation before completion.' };
  }
}

/** The calls of an event that ask for a confirmation. Semantics: the function of this name of `@google/adk` 2.0.0. */
export function getAskUserConfirmationFunctionCalls(event: Event): FunctionCall[] {
  return getFunctionCalls(event).filter(({ name }) => name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME);
}
