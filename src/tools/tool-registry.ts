import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { type BaseTool, isBaseTool } from './base-tool.ts';

const TOOL_REGISTRY = Symbol.for('holdfast.toolRegistry');
const ADK_TOOL = Symbol.for('google.adk.baseTool');

/**
 * Tools by name, in the order in which they came. Registering a name that is taken fails; merging asks the tool that comes,
 * by its `onCollision`.
 *
 * Semantics: `ToolRegistry` of the "adk" tools page. A turn's own tools are edited through `request.tools` and never change
 * a registry.
 *
 * @example
 * const tools = new ToolRegistry([findOrder, refund]).merge(await weather.getTools());
 * const agent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: tools.list() });
 */
export class ToolRegistry {
  readonly [TOOL_REGISTRY] = true;
  #tools = new Map<string, BaseTool>();

  /** @throws DefinitionError like {@link ToolRegistry.register}. */
  constructor(tools: Iterable<BaseTool> = []) {
    for (const [index, tool] of listed('tools', tools).entries()) this.#register(tool, `tools[${index}]`);
  }

  get size(): number {
    return this.#tools.size;
  }

  /** @throws DefinitionError for a value that is no tool, and for a name that is taken. */
  register(tool: BaseTool): this {
    this.#register(tool, 'tool');
    return this;
  }

  /**
   * Takes over tools of another registry, or of a list. Where a name is taken the tool that comes decides: `onCollision`
   * 'throw' refuses, 'replace' takes the place of the one that was there, 'keep' leaves that one. A tool that is here already
   * stays.
   *
   * @throws DefinitionError naming the tool; then nothing was merged.
   */
  merge(other: ToolRegistry | Iterable<BaseTool>): this {
    const merged = new Map(this.#tools);
    const incoming = isToolRegistry(other) ? other.list() : listed('other', other);
    for (const [index, tool] of incoming.entries()) {
      assertTool(tool, `other[${index}]`);
      const present = merged.get(tool.name);
      if (present === tool || (present !== undefined && tool.onCollision === 'keep')) continue;
      if (present !== undefined && tool.onCollision !== 'replace') {
        throw taken(tool, `other[${index}]`, "; let it say onCollision: 'replace' or 'keep', or rename it");
      }
      merged.set(tool.name, tool);
    }
    this.#tools = merged;
    return this;
  }

  /** False where there is no tool of this name. */
  unregister(name: string): boolean {
    return this.#tools.delete(name);
  }

  get(name: string): BaseTool | undefined {
    return this.#tools.get(name);
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** A new array. */
  list(): BaseTool[] {
    return [...this.#tools.values()];
  }

  /** Other tools in it are no other tools here. */
  clone(): ToolRegistry {
    return new ToolRegistry(this.list());
  }

  /**
   * Removes `ephemeral` tools when an invocation completes, also tools that came meanwhile. Keeps them if it fails, so that another
   * try finds them.
   *
   * @param completion fulfilled when the invocation has completed, rejected when it has failed. Its error is left to other code
   * that waits for it.
   * @returns fulfilled once that is done, with the names of the tools that went.
   * @example
   * const turn = await client.sendMessage({ ...names, message });
   * const gone = registry.bindContext(turn.result());
   */
  bindContext(completion: PromiseLike<unknown>): Promise<string[]> {
    if (typeof (completion as { then?: unknown } | undefined)?.then !== 'function') {
      throw new DefinitionError({
        owner: 'ToolRegistry.bindContext',
        field: 'completion',
        problem: `expected a promise of the invocation's end, got ${kindOf(completion)}`,
      });
    }
    return Promise.resolve(completion).then(
      () => this.#prune(),
      () => [],
    );
  }

  #prune(): string[] {
    const gone = this.list().filter(({ ephemeral }) => ephemeral);
    for (const { name } of gone) this.#tools.delete(name);
    return gone.map(({ name }) => name);
  }

  #register(tool: BaseTool, field: string): void {
    assertTool(tool, field);
    if (this.#tools.has(tool.name)) throw taken(tool, field, '; rename one of them, or merge instead');
    this.#tools.set(tool.name, tool);
  }
}

/** Whether `value` is a {@link ToolRegistry}, of this or of another copy of the package. */
export function isToolRegistry(value: unknown): value is ToolRegistry {
  return (
    typeof value === 'object' && value !== null && TOOL_REGISTRY in value && value[TOOL_REGISTRY] === true
  );
}

function listed(field: string, tools: Iterable<BaseTool>): BaseTool[] {
  if (typeof (tools as Iterable<BaseTool> | undefined)?.[Symbol.iterator] === 'function') return [...tools];
  throw new DefinitionError({
    owner: 'ToolRegistry',
    field,
    problem: `expected a list of tools, got ${kindOf(tools)}`,
  });
}

function assertTool(tool: unknown, field: string): asserts tool is BaseTool {
  if (isBaseTool(tool)) return;
  throw new DefinitionError({ owner: 'ToolRegistry', field, problem: whatItIs(tool) });
}

function whatItIs(value: unknown): string {
  if (isRecord(value) && ADK_TOOL in value) {
    return "a tool of @google/adk; import its class from 'holdfast' instead";
  }
  return `expected a tool, got ${kindOf(value)}`;
}

function taken({ name }: BaseTool, field: string, hint: string): DefinitionError {
  return new DefinitionError({
    owner: 'ToolRegistry',
    field,
    problem: `there is a tool "${name}" already${hint}`,
  });
}
