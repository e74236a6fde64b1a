import type { FunctionDeclaration } from '../events/content.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { ApprovalOptions } from './approval-options.ts';
import {
  AGENT_OF_TOOL,
  type AgentOfTool,
  BaseTool,
  type RunAsyncToolRequest,
  type ToolProcessLlmRequest,
} from './base-tool.ts';
import type { BaseToolset } from './base-toolset.ts';
import type { Context } from './context.ts';
import type { ConfirmationPredicate, ConfirmationQuestion, GateOptions } from './gate-options.ts';
import { jobOptionsOf } from './job-options.ts';
import { hintOf, isPlannedOnly, keptFromRunning, plannedOnly, questionOf } from './tool-gate.ts';
import { assertNameOf, RESERVED_NAME } from './tool-name.ts';
import { WrappedToolset } from './toolsets.ts';

/** Decides whether a call waits for a person's approval, and words the question; the arguments are a copy. */
export type ConfirmationProvider = (
  toolName: string,
  args: Record<string, unknown>,
  toolContext: Context,
) => boolean | ConfirmationQuestion | Promise<boolean | ConfirmationQuestion>;

/**
 * A toolset whose calls wait for a person's approval. A tool that has a gate of its own keeps it: its calls wait where either says
 * so. A tool that gets one is run once for each approval, and as an activity. Tools that the model doesn't call, and those that only
 * ask people, stay as they are. Semantics: `WithConfirmation` of adk-go.
 *
 * @param required for all calls; where there is a provider its answer counts alone.
 * @throws DefinitionError naming the argument.
 * @example
 * const careful = withConfirmation(warehouse, false, (toolName, { amount }) => toolName === 'pay' && Number(amount) > 100);
 */
export function withConfirmation(
  toolset: BaseToolset,
  required: boolean,
  provider?: ConfirmationProvider,
): BaseToolset {
  if (typeof required !== 'boolean') {
    refuse('required', `expected true or false, got ${kindOf(required)}`);
  }
  if (provider !== undefined && typeof provider !== 'function') {
    refuse('provider', `expected a function of a tool's name and its arguments, got ${kindOf(provider)}`);
  }
  return new WrappedToolset('withConfirmation', toolset, (tools) =>
    tools.map((tool) => {
      const isCalled = tool._getDeclaration() !== undefined && tool[RESERVED_NAME] === undefined;
      const isGated = required || provider !== undefined;
      return isCalled && isGated ? new ConfirmedTool(tool, required, provider) : tool;
    }),
  );
}

class ConfirmedTool extends BaseTool {
  readonly #inner: BaseTool;
  override readonly [AGENT_OF_TOOL]?: AgentOfTool;

  constructor(inner: BaseTool, required: boolean, provider: ConfirmationProvider | undefined) {
    assertNameOf('withConfirmation', inner);
    super({ ...optionsOf(inner), ...gateOver(inner, required, provider) });
    this.#inner = inner;
    // Its options don't tell of the server that a credential comes from.
    Object.assign(this, {
      gate: Object.freeze({
        ...this.gate,
        ...(inner.gate?.credential && { credential: inner.gate.credential }),
      }),
    });
    if (isPlannedOnly(inner)) plannedOnly(this);
    const runs = inner[AGENT_OF_TOOL];
    // An approval is for one run.
    if (runs !== undefined) this[AGENT_OF_TOOL] = isGated(inner) ? runs : { ...runs, attempts: 1 };
  }

  override get definitionDigest(): string | undefined {
    return this.#inner.definitionDigest;
  }

  override _getDeclaration(): FunctionDeclaration | undefined {
    return this.#inner._getDeclaration();
  }

  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await this.#inner.processLlmRequest(request);
    const { toolsDict } = request.llmRequest;
    // The inner tool has put itself there, and would run without a gate.
    if (Object.hasOwn(toolsDict, this.name) && toolsDict[this.name] === this.#inner) {
      toolsDict[this.name] = this;
    }
  }

  override cancel(callId: string): boolean | Promise<boolean> {
    return this.#inner.cancel(callId);
  }

  override supportsCancellation(): boolean {
    return this.#inner.supportsCancellation();
  }

  override readArguments(args: Record<string, unknown>): Promise<unknown> {
    return this.#inner.readArguments(args);
  }

  override readResult(result: unknown): Promise<unknown> {
    return this.#inner.readResult(result);
  }

  override checkArguments(args: Record<string, unknown>): Promise<void> {
    return this.#inner.checkArguments(args);
  }

  override goesOn(once: Readonly<Record<string, unknown>>): boolean {
    return this.#inner.goesOn(once);
  }

  override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    return (await keptFromRunning(this, request)) ?? this.#inner.runAsync(request);
  }
}

/** A call's own terms may have taken these back: they must not come from the tool again. */
const NO_TERMS = {
  quorum: 1,
  expiresIn: 'never',
  onExpiry: 'reject',
  allowEdit: false,
  notRequester: false,
} satisfies ApprovalOptions;

function gateOver(
  inner: BaseTool,
  required: boolean,
  provider: ConfirmationProvider | undefined,
): GateOptions {
  const { confirmation, approval, credential } = inner.gate ?? {};
  const own = defined({ authConfig: credential?.authConfig });
  const ofToolset: ConfirmationPredicate<Record<string, unknown>> = provider
    ? (args, context) => provider(inner.name, args, context)
    : () => required;
  if (confirmation === undefined) {
    // As a flag it is seen in the digest of the gate.
    return provider === undefined
      ? { ...own, requireConfirmation: required }
      : { ...own, requireConfirmationProvider: ofToolset };
  }
  return {
    ...own,
    ...defined({ approval }),
    requireConfirmationProvider: async (args, context) => {
      const question = await questionOf(inner, args, context);
      if (question !== undefined) {
        const { terms, ...asked } = question;
        return terms === undefined ? asked : { ...asked, approval: { ...NO_TERMS, ...terms } };
      }
      const answer: unknown = await ofToolset(args, context);
      if (answer === false) return false;
      return { hint: await hintOf(inner, args), ...(isRecord(answer) ? answer : {}) };
    },
  };
}

function optionsOf(tool: BaseTool) {
  const { name, description, isLongRunning, isReadOnly, trusted, ephemeral, onCollision, spool, durable } =
    tool;
  const { onUnknownOutcome } = durable;
  const staysAsItIs = isGated(tool) || onUnknownOutcome === 'ask' || tool[AGENT_OF_TOOL] !== undefined;
  return {
    ...jobOptionsOf(tool.job),
    ...durable,
    // Defaults of a tool that waits: what was chosen for runs without an approval says nothing about those.
    retry: isGated(tool) ? durable.retry : { ...durable.retry, maximumAttempts: 1 },
    onUnknownOutcome: staysAsItIs ? onUnknownOutcome : ('fail' as const),
    execution: 'activity' as const,
    name,
    description,
    isLongRunning,
    isReadOnly,
    trusted,
    ephemeral,
    ...defined({ spool }),
    onCollision,
  };
}

function isGated({ gate }: BaseTool): boolean {
  return gate?.confirmation !== undefined;
}

function refuse(field: string, problem: string): never {
  throw new DefinitionError({ owner: 'withConfirmation', field, problem });
}
