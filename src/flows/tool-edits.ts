import { codedError } from '../contract/error.ts';
import type { ToolEdit } from '../protocol/tool-edit.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import type { BaseTool, ToolFactory } from '../tools/base-tool.ts';
import { makeTurnTool } from '../tools/turn-registry.ts';

/**
 * A tool that the invocation has added can't be made again: its factory is gone, throws, or makes another one. Another worker,
 * or another attempt, may do.
 */
export class ToolFactoryFailed extends codedError('HOLDFAST_TOOL_FACTORY') {}

/**
 * What the edits say of the tool of this name: the one that they add, null where they take it out, undefined where they say
 * nothing of it.
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

/** @throws ToolFactoryFailed for what making tools again throws. */
export function made<T>(make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const problem = `a tool that the invocation has added can't be made again: ${thrownMessage(cause)}`;
    throw new ToolFactoryFailed(problem, { cause });
  }
}
