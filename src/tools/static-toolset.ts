import { DefinitionError } from '../schema/definition-error.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';
import type { BaseTool } from './base-tool.ts';
import { BaseToolset, type ToolPredicate } from './base-toolset.ts';
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

/**
 * A fixed list of tools as a toolset. Semantics: `StaticToolset` of adk-rs.
 *
 * @throws DefinitionError from the constructor, for what is no tool and for two tools of one name.
 * @example
 * const shelves = new StaticToolset([listShelves, moveShelf], { toolFilter: ['listShelves'] });
 */
export class StaticToolset extends BaseToolset {
  readonly #name: string | undefined;
  readonly #tools: readonly BaseTool[];

  constructor(tools: Iterable<BaseTool>, options: StaticToolsetOptions = {}) {
    const owner = new.target.name || 'StaticToolset';
    assertKnownFields(owner, options, ['name', 'toolFilter'], { field: 'options' });
    const { name, toolFilter }: StaticToolsetOptions = options;
    if (tools === undefined) {
      throw new DefinitionError({
        owner,
        field: 'tools',
        problem: 'expected a list of tools, got undefined',
      });
    }
    super(toolFilter);
    this.#name = name === undefined ? undefined : new OptionReader(owner, options, 'options').text('name');
    this.#tools = new ToolRegistry(tools).list();
  }

  override get name(): string {
    return this.#name ?? super.name;
  }

  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    return this.#tools.filter((tool) => context === undefined || this.isToolSelected(tool, context));
  }

  /** There is nothing to close. */
  override async close(): Promise<void> {
    return undefined;
  }
}
