import { codedError } from '../contract/error.ts';
import type { ToolEdit } from '../protocol/run-terms.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import type { BaseTool, LlmRequest, ToolFactory, TurnTools } from '../tools/base-tool.ts';
import { SET_MODEL_RESPONSE } from '../tools/built-in/set-model-response-tool.ts';
import { makeTurnTool, TurnRegistry } from '../tools/turn-registry.ts';

/**
 * A tool that the invocation has added can't be made again: its factory is gone, throws, or makes another one. Another worker,
 * or another attempt, may do.
 */
export class ToolFactoryFailed extends codedError('HOLDFAST_TOOL_FACTORY') {}

/**
 * The tool that the edits add under this name, null where they remove it, undefined where they don't name it.
 *
 * @throws ToolFactoryFailed
 */
export function editedTool(
  edits: readonly ToolEdit[],
  factories: ReadonlyMap<string, ToolFactory>,
  name: string,
): BaseTool | null | undefined {
  for (const edit of edits.toReversed()) {
    if ('remove' in edit) {
      if (edit.remove === name) return null;
      continue;
    }
    const tool = made(() => makeTurnTool(factories, edit.add, edit.args));
    if (tool.name === name) return tool;
  }
  return undefined;
}

/** @throws ToolFactoryFailed */
export function addedTools(
  edits: readonly ToolEdit[],
  factories: ReadonlyMap<string, ToolFactory>,
): BaseTool[] {
  return edits.flatMap((edit) =>
    'add' in edit ? [made(() => makeTurnTool(factories, edit.add, edit.args))] : [],
  );
}

/** @throws ToolFactoryFailed for what making tools again throws. */
export function made<T>(make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const problem = `a tool that the invocation has added can't be made again: ${thrownMessage(cause)}`;
    throw new ToolFactoryFailed(problem, { cause });
  }
}

interface RequestToolsInit {
  /** The tools that the request is going to have, without those of the edits. */
  expected: () => readonly BaseTool[];
  factories: ReadonlyMap<string, ToolFactory>;
  /** Edits of earlier requests. */
  edits: readonly ToolEdit[];
}

/**
 * The `tools` of a request. Processors come before the tools are in it, because tools look at what processors have made: they
 * edit the tools that it is going to have.
 */
export class RequestTools implements TurnTools {
  readonly #init: RequestToolsInit;
  readonly #added = new Set<string>();
  #registry: TurnRegistry | undefined;

  constructor(init: RequestToolsInit) {
    this.#init = init;
  }

  /** All edits of the invocation by now. */
  get edits(): readonly ToolEdit[] {
    return this.#registry?.edits ?? this.#init.edits;
  }

  /** Names of the tools that were added to this request. */
  get added(): ReadonlySet<string> {
    return this.#added;
  }

  add(factory: string, args?: Record<string, unknown>): BaseTool {
    const tool = this.#current.add(factory, args);
    this.#added.add(tool.name);
    return tool;
  }

  /** How the agent answers is no tool of the turn: the model is told to call it. */
  remove(name: string): boolean {
    return name !== SET_MODEL_RESPONSE && this.#current.remove(name);
  }

  get(name: string): BaseTool | undefined {
    return this.#current.get(name);
  }

  has(name: string): boolean {
    return this.#current.has(name);
  }

  list(): BaseTool[] {
    return this.#current.list();
  }

  /**
   * The request has its own tools now: from here on edits change it.
   *
   * @throws ToolFactoryFailed
   */
  takeOver(request: LlmRequest): void {
    this.#registry = this.#registryOf(request, this.edits);
  }

  get #current(): TurnRegistry {
    const { expected, edits } = this.#init;
    this.#registry ??= this.#registryOf(
      { toolsDict: Object.fromEntries(expected().map((tool) => [tool.name, tool])) },
      edits,
    );
    return this.#registry;
  }

  #registryOf(request: Pick<LlmRequest, 'toolsDict' | 'config'>, edits: readonly ToolEdit[]): TurnRegistry {
    const registry = new TurnRegistry({ request, factories: this.#init.factories });
    if (edits.length > 0) made(() => registry.replay(edits));
    return registry;
  }
}
