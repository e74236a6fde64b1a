import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../schema/options.ts';
import type { BaseTool, LlmRequest } from './base-tool.ts';
import { assertToolNames, BaseToolset, isBaseToolset, passes, type ToolPredicate } from './base-toolset.ts';
import type { Context } from './context.ts';
import type { ReadonlyContext } from './readonly-context.ts';
import { ToolRegistry } from './tool-registry.ts';

export interface StaticToolsetOptions {
  /**
   * For messages.
   *
   * @default 'StaticToolset'
   */
  name?: string;
  /** A predicate, or the names of the tools to offer; an empty list offers all. */
  toolFilter?: ToolPredicate | readonly string[];
}

const STATIC_TOOLSET = {
  name: option.text(),
  toolFilter: option.unchecked(),
} satisfies OptionsFor<StaticToolsetOptions>;

/**
 * A fixed list of tools as a toolset. Semantics: `StaticToolset` of adk-rs.
 *
 * @throws DefinitionError from the constructor, for a value that is no tool and for two tools of one name.
 * @example
 * const shelves = new StaticToolset([listShelves, moveShelf], { toolFilter: ['listShelves'] });
 */
export class StaticToolset extends BaseToolset {
  readonly #name: string | undefined;
  readonly #tools: readonly BaseTool[];

  constructor(tools: Iterable<BaseTool>, options: StaticToolsetOptions = {}) {
    const owner = new.target.name || 'StaticToolset';
    const { name, toolFilter } = readGroup(STATIC_TOOLSET, { owner, options, field: 'options' });
    if (tools === undefined) {
      throw new DefinitionError({
        owner,
        field: 'tools',
        problem: 'expected a list of tools, got undefined',
      });
    }
    super(toolFilter);
    this.#name = name;
    this.#tools = new ToolRegistry(tools).list();
  }

  override get name(): string {
    return this.#name ?? super.name;
  }

  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    return this.#tools.filter((tool) => context === undefined || this.isToolSelected(tool, context));
  }

  override async knownTools(): Promise<BaseTool[]> {
    return await this.getTools();
  }

  /** There is nothing to close. */
  override async close(): Promise<void> {
    return undefined;
  }
}

/** Another toolset with something changed about its tools. Name, request and closing are the other one's. */
export class WrappedToolset extends BaseToolset {
  readonly inner: BaseToolset;
  readonly #change: (tools: BaseTool[], context: ReadonlyContext | undefined) => BaseTool[];

  /** @throws DefinitionError for a value that is no toolset, under the name of the function that wraps. */
  constructor(
    owner: string,
    inner: BaseToolset,
    change: (tools: BaseTool[], context: ReadonlyContext | undefined) => BaseTool[],
    toolFilter?: ToolPredicate,
  ) {
    if (!isBaseToolset(inner)) {
      const problem = `expected a toolset, got ${kindOf(inner)}`;
      throw new DefinitionError({ owner, field: 'toolset', problem });
    }
    super(toolFilter ?? inner.toolFilter, inner.prefix, { optional: inner.optional === true });
    this.inner = inner;
    this.#change = change;
  }

  override get name(): string {
    return this.inner.name;
  }

  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    return this.#change(await this.inner.getTools(context), context);
  }

  override async knownTools(): Promise<BaseTool[]> {
    return this.#change(await this.inner.knownTools(), undefined);
  }

  override async processLlmRequest(toolContext: Context, llmRequest: LlmRequest): Promise<void> {
    await this.inner.processLlmRequest(toolContext, llmRequest);
  }

  override async close(): Promise<void> {
    await this.inner.close();
  }
}

/**
 * A toolset with those tools of another that a predicate passes, found out at every request. Without a context, as outside of
 * an invocation, it has all of them. Semantics: `FilterToolset` of adk-go.
 *
 * @throws DefinitionError for a value that is no toolset or no function.
 * @example
 * const safe = filterToolset(warehouse, (tool, context) => tool.isReadOnly || context.state.get('user:role') === 'admin');
 */
export function filterToolset(toolset: BaseToolset, predicate: ToolPredicate): BaseToolset {
  if (typeof predicate !== 'function') {
    throw new DefinitionError({
      owner: 'filterToolset',
      field: 'predicate',
      problem: `expected a function of a tool and a context, got ${kindOf(predicate)}; for names write stringPredicate(names)`,
    });
  }
  const passing = (tools: BaseTool[], context: ReadonlyContext | undefined) =>
    context === undefined ? tools : tools.filter((tool) => passes(predicate, tool, context));
  return new WrappedToolset('filterToolset', toolset, passing, predicate);
}

/**
 * A predicate that passes tools by name; an empty list passes none. Semantics: `AllowedToolsPredicate` of adk-go.
 *
 * @throws DefinitionError for anything but a list of names.
 * @example filterToolset(warehouse, stringPredicate(['listShelves']))
 */
export function stringPredicate(names: readonly string[]): ToolPredicate {
  assertToolNames('stringPredicate', 'names', names);
  const allowed = new Set(names);
  return (tool) => allowed.has(tool.name);
}
