import { DefinitionError } from '../schema/definition-error.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import { type BaseTool, isBaseTool } from '../tools/base-tool.ts';

/** @throws DefinitionError for what is no tool, and for the second tool of a name. */
export function checkedTools(owner: string, tools: unknown = []): readonly BaseTool[] {
  if (!Array.isArray(tools)) {
    throw new DefinitionError({
      owner,
      field: 'tools',
      problem: `expected a list of tools, got ${kindOf(tools)}`,
    });
  }
  const indexes = new Map<string, number>();
  // By index, because an array may have holes.
  return Object.freeze(
    Array.from({ length: tools.length }, (_, index) => {
      const tool: unknown = tools[index];
      const field = `tools[${index}]`;
      if (!isBaseTool(tool)) throw new DefinitionError({ owner, field, problem: whatItIs(tool) });
      const first = indexes.get(tool.name);
      if (first !== undefined) {
        throw new DefinitionError({
          owner,
          field,
          problem: `duplicate tool: "${tool.name}", which is tools[${first}] too`,
        });
      }
      indexes.set(tool.name, index);
      return tool;
    }),
  );
}

const ADK_TOOL = Symbol.for('google.adk.baseTool');

function whatItIs(value: unknown): string {
  if (typeof value === 'object' && value !== null && ADK_TOOL in value) {
    return `a tool of @google/adk; import its class from 'holdfast' instead`;
  }
  if (isRecord(value) && 'execute' in value)
    return 'options of a tool; write tool({…}) or new FunctionTool({…})';
  return `expected a tool, got ${kindOf(value)}`;
}
