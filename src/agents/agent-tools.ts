import { DefinitionError } from '../schema/definition-error.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import { isBaseTool } from '../tools/base-tool.ts';
import { isBaseToolset, type ToolUnion } from '../tools/base-toolset.ts';
import { assertNameOf } from '../tools/tool-name.ts';

/** A name that something else of the agent has taken, and what that is. */
export type TakenNames = ReadonlyMap<string, string>;

/**
 * @param taken names that no tool may have.
 * @throws DefinitionError for what is neither tool nor toolset, and for the second tool of a name.
 */
export function checkedTools(
  owner: string,
  tools: unknown = [],
  taken: TakenNames = new Map(),
): readonly ToolUnion[] {
  if (!Array.isArray(tools)) {
    const problem = `expected a list of tools, got ${kindOf(tools)}`;
    throw new DefinitionError({ owner, field: 'tools', problem });
  }
  const names = new Map(taken);
  const toolsets = new Map<unknown, number>();
  // By index, because an array may have holes.
  return Object.freeze(
    Array.from({ length: tools.length }, (_, index) => {
      const tool: unknown = tools[index];
      const field = `tools[${index}]`;
      if (isBaseToolset(tool)) {
        const first = toolsets.get(tool);
        if (first !== undefined) {
          const problem = `the same toolset as tools[${first}], so each of its tools would be there twice`;
          throw new DefinitionError({ owner, field, problem });
        }
        toolsets.set(tool, index);
        return tool;
      }
      if (!isBaseTool(tool)) throw new DefinitionError({ owner, field, problem: whatItIs(tool) });
      assertNameOf(`${owner}: ${field}`, tool);
      const other = names.get(tool.name);
      if (other !== undefined) {
        const problem = `duplicate tool: "${tool.name}", which is ${other} too`;
        throw new DefinitionError({ owner, field, problem });
      }
      names.set(tool.name, field);
      return tool;
    }),
  );
}

const ADK_TOOL = Symbol.for('google.adk.baseTool');
const ADK_TOOLSET = Symbol.for('google.adk.baseToolset');

function whatItIs(value: unknown): string {
  if (typeof value === 'object' && value !== null && (ADK_TOOL in value || ADK_TOOLSET in value)) {
    const what = ADK_TOOL in value ? 'a tool' : 'a toolset';
    return `${what} of @google/adk; import its class from 'holdfast' instead`;
  }
  if (isRecord(value) && 'execute' in value)
    return 'options of a tool; write tool({…}) or new FunctionTool({…})';
  return `expected a tool, got ${kindOf(value)}`;
}
