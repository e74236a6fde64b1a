import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { BaseTool, LlmRequest } from './base-tool.ts';
import { BaseToolset, isBaseToolset } from './base-toolset.ts';
import type { Context } from './context.ts';
import type { ReadonlyContext } from './readonly-context.ts';

/** Another toolset with something changed about its tools. Name, request and closing are the other one's. */
export class WrappedToolset extends BaseToolset {
  readonly #inner: BaseToolset;
  readonly #change: (tools: BaseTool[], context: ReadonlyContext | undefined) => BaseTool[];

  /** @throws DefinitionError for what is no toolset, under the name of the function that wraps. */
  constructor(
    owner: string,
    inner: BaseToolset,
    change: (tools: BaseTool[], context: ReadonlyContext | undefined) => BaseTool[],
  ) {
    if (!isBaseToolset(inner)) {
      const problem = `expected a toolset, got ${kindOf(inner)}`;
      throw new DefinitionError({ owner, field: 'toolset', problem });
    }
    super([], inner.prefix);
    this.#inner = inner;
    this.#change = change;
  }

  override get name(): string {
    return this.#inner.name;
  }

  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    return this.#change(await this.#inner.getTools(context), context);
  }

  override async processLlmRequest(toolContext: Context, llmRequest: LlmRequest): Promise<void> {
    await this.#inner.processLlmRequest(toolContext, llmRequest);
  }

  override async close(): Promise<void> {
    await this.#inner.close();
  }
}
