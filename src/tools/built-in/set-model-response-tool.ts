import type { FunctionDeclaration } from '../../events/content.ts';
import type { JsonSchemaObject } from '../../schema/compiled-schema.ts';
import { withObjectRoot } from '../../schema/subschemas.ts';
import { BaseTool, type RunAsyncToolRequest } from '../base-tool.ts';

/** Name of the tool by which an agent with tools answers by its `outputSchema`. */
export const SET_MODEL_RESPONSE = 'set_model_response';

/** Told to the model along with the tool; text of `@google/adk` 2.0.0. */
export const SET_MODEL_RESPONSE_INSTRUCTION =
  'To output the final result, you must call the "set_model_response" function with the appropriate values. Do not output anything else.';

/**
 * The tool `set_model_response` of a schema, with the description of `@google/adk` 2.0.0. A call of it is an agent's answer and
 * not run; {@link modelResponseOf} is its value.
 */
export class SetModelResponseTool extends BaseTool {
  readonly #schema: JsonSchemaObject;

  constructor(outputSchema: JsonSchemaObject) {
    super({
      name: SET_MODEL_RESPONSE,
      trusted: true,
      description:
        'Call this tool to submit your final response conforming to the output schema. Use this tool only when you have collected all the information and are ready to return the final answer.',
    });
    this.#schema = outputSchema;
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: parametersOf(this.#schema),
    };
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<string> {
    toolContext.actions.skipSummarization = true;
    return JSON.stringify(modelResponseOf(this.#schema, args));
  }
}

/** The answer that a call of `set_model_response` gives, to be validated; undefined where the call has none. */
export function modelResponseOf(outputSchema: JsonSchemaObject, args: Record<string, unknown>): unknown {
  const wrapper = wrapperOf(outputSchema);
  return wrapper === undefined ? args : args[wrapper];
}

/** Where in the arguments the answer stands: `''` where it is all of them. */
export function modelResponsePath(outputSchema: JsonSchemaObject): string {
  return wrapperOf(outputSchema) ?? '';
}

/** Parameters of a function are an object: anything else is wrapped, as adk-python does it. */
function parametersOf(schema: JsonSchemaObject): JsonSchemaObject {
  const wrapper = wrapperOf(schema);
  if (wrapper === undefined) return withObjectRoot(schema) ?? schema;
  const { $defs, ...wrapped } = schema;
  return {
    type: 'object',
    properties: { [wrapper]: wrapped },
    required: [wrapper],
    ...($defs === undefined ? {} : { $defs }),
  };
}

function wrapperOf(schema: JsonSchemaObject): 'items' | 'response' | undefined {
  if (withObjectRoot(schema) !== undefined) return undefined;
  return schema.type === 'array' ? 'items' : 'response';
}
