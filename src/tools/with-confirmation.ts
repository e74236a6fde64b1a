import type { FunctionDeclaration } from '../events/content.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { BaseTool, type RunAsyncToolRequest, type ToolProcessLlmRequest } from './base-tool.ts';
import type { BaseToolset } from './base-toolset.ts';
import type { Context } from './context.ts';
import { assertNameOf, withReservedName } from './tool-name.ts';
import { UnsupportedGate } from './unsupported-gate.ts';
import { WrappedToolset } from './wrapped-toolset.ts';

/** Whether a call needs a person's approval; the arguments are the model's, not validated. */
export type ConfirmationProvider = (
  toolName: string,
  args: Record<string, unknown>,
  toolContext: Context,
) => boolean | Promise<boolean>;

/**
 * A toolset whose calls wait for a person's approval. Its gate comes with a later release: until then a call that needs an
 * approval is refused, and nothing runs. Tools that the model doesn't call stay as they are. Semantics: `WithConfirmation` of
 * adk-go.
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
    tools.map((tool) =>
      tool._getDeclaration() === undefined ? tool : new ConfirmedTool(tool, required, provider),
    ),
  );
}

class ConfirmedTool extends BaseTool {
  readonly #inner: BaseTool;
  readonly #required: boolean;
  readonly #provider: ConfirmationProvider | undefined;

  constructor(inner: BaseTool, required: boolean, provider: ConfirmationProvider | undefined) {
    assertNameOf('withConfirmation', inner);
    super(withReservedName(optionsOf(inner)));
    this.#inner = inner;
    this.#required = required;
    this.#provider = provider;
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

  override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    if (await this.#mustAsk(request)) throw new UnsupportedGate(`tool '${this.name}' needs an approval`);
    return this.#inner.runAsync(request);
  }

  async #mustAsk({ args, toolContext }: RunAsyncToolRequest): Promise<boolean> {
    if (this.#provider === undefined) return this.#required;
    // The provider must not change what the tool is then given.
    const answer: unknown = await this.#provider(this.name, structuredClone(args), toolContext);
    // Anything but a clear no asks.
    return answer !== false;
  }
}

function optionsOf(tool: BaseTool) {
  const { name, description, isLongRunning, isReadOnly, trusted, ephemeral, onCollision, durable } = tool;
  const { heartbeatTimeout, ...options } = durable;
  return {
    ...options,
    // Local tools have none, and may not be given one.
    ...(durable.execution === 'local' ? {} : { heartbeatTimeout }),
    name,
    description,
    isLongRunning,
    isReadOnly,
    trusted,
    ephemeral,
    onCollision,
  };
}

function refuse(field: string, problem: string): never {
  throw new DefinitionError({ owner: 'withConfirmation', field, problem });
}
