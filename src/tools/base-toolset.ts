import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { BaseTool, LlmRequest } from './base-tool.ts';
import type { Context } from './context.ts';
import type { ReadonlyContext } from './readonly-context.ts';

const BASE_TOOLSET = Symbol.for('holdfast.baseToolset');
/** Milliseconds for which a source of tools that has failed is not asked again. */
export const FAILURE_LASTS = 10_000;

/** Whether a tool is offered to the model. Semantics: `ToolPredicate` of `@google/adk` 2.0.0. */
export type ToolPredicate = (tool: BaseTool, context: ReadonlyContext) => boolean;

/**
 * Tools that are found out at every request, and again by the worker that runs a call. Semantics: `BaseToolset` of
 * `@google/adk` 2.0.0; `name` is that of adk-go.
 *
 * @example
 * class Shelves extends BaseToolset {
 *   override async getTools(context?: ReadonlyContext) {
 *     const tools = (await shelvesOf(context?.userId)).map(shelfTool);
 *     return context === undefined ? tools : tools.filter((tool) => this.isToolSelected(tool, context));
 *   }
 *   override async close() {}
 * }
 */
export abstract class BaseToolset {
  readonly [BASE_TOOLSET] = true;
  readonly toolFilter: ToolPredicate | string[];
  readonly prefix?: string;
  /**
   * Whether the agent goes on without its tools while it fails. That is logged once, and the next request asks it again. A tool whose name
   * another one has is left out alone.
   */
  readonly optional: boolean;

  /**
   * @param toolFilter a predicate, or the names of the tools to offer; an empty list offers all. Defaults to `[]`.
   * @param prefix for the names of its tools; what it means is the toolset's affair.
   * @param options `optional`: see {@link BaseToolset.optional}; false by default.
   * @throws DefinitionError naming the argument.
   */
  constructor(
    toolFilter: ToolPredicate | readonly string[] = [],
    prefix?: string,
    { optional = false }: { optional?: boolean } = {},
  ) {
    const owner = new.target.name || 'BaseToolset';
    if (typeof toolFilter !== 'function') assertToolNames(owner, 'toolFilter', toolFilter);
    if (prefix !== undefined && typeof prefix !== 'string') {
      throw new DefinitionError({
        owner,
        field: 'prefix',
        problem: `expected a string, got ${kindOf(prefix)}`,
      });
    }
    this.toolFilter = typeof toolFilter === 'function' ? toolFilter : [...toolFilter];
    if (prefix !== undefined) this.prefix = prefix;
    this.optional = optional;
  }

  /** For messages. Defaults to the class's name. */
  get name(): string {
    return this.constructor.name;
  }

  /** @param context absent: all tools. */
  abstract getTools(context?: ReadonlyContext): Promise<BaseTool[]>;

  /**
   * Tools that are known before any request. A worker asks for them when it starts, and checks them then; a `DefinitionError` of a toolset
   * that isn't optional ends it, and so does a name that another tool of the agent has, unless `toolFilter` is a predicate. Any other error
   * is logged.
   *
   * @default none
   */
  async knownTools(): Promise<BaseTool[]> {
    return [];
  }

  /** The worker stops. */
  abstract close(): Promise<void>;

  /** Changes the request, before the tools do. */
  async processLlmRequest(_toolContext: Context, _llmRequest: LlmRequest): Promise<void> {
    return undefined;
  }

  protected isToolSelected(tool: BaseTool, context: ReadonlyContext): boolean {
    const { toolFilter } = this;
    if (typeof toolFilter === 'function') return passes(toolFilter, tool, context);
    return toolFilter.length === 0 || toolFilter.includes(tool.name);
  }
}

/** Whether `value` is a toolset, of this or of another copy of the package. */
export function isBaseToolset(value: unknown): value is BaseToolset {
  return typeof value === 'object' && value !== null && BASE_TOOLSET in value && value[BASE_TOOLSET] === true;
}

/**
 * Asks a predicate.
 *
 * @throws TypeError for a promise, or another thenable: it would pass every tool.
 */
export function passes(predicate: ToolPredicate, tool: BaseTool, context: ReadonlyContext): boolean {
  const answer: unknown = predicate(tool, context);
  if (isAwaitable(answer)) {
    throw new TypeError('a tool predicate returned a promise; it must answer true or false at once');
  }
  return Boolean(answer);
}

function isAwaitable(value: unknown): boolean {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isObject && typeof (value as { then?: unknown }).then === 'function';
}

/** @throws DefinitionError for anything but a list of names. */
export function assertToolNames(owner: string, field: string, names: unknown): void {
  if (!Array.isArray(names)) {
    const problem = `expected a list of tool names, got ${kindOf(names)}`;
    throw new DefinitionError({ owner, field, problem });
  }
  for (const [index, name] of names.entries()) {
    if (typeof name === 'string' && name !== '') continue;
    throw new DefinitionError({
      owner,
      field: `${field}[${index}]`,
      problem: `expected the name of a tool, got ${name === '' ? "''" : kindOf(name)}`,
    });
  }
}

/** An entry of an agent's `tools`. */
export type ToolUnion = BaseTool | BaseToolset;
