import { isRecord } from '../protocol/json.ts';
import type { JsonSchemaObject } from '../schema/compiled-schema.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { withObjectRoot } from '../schema/subschemas.ts';
import { InvalidResultError, ToolError } from './tool-error.ts';

/**
 * The response of a call as the model gets it: a JSON object as it is; anything else, arrays too, as
 * `{ result: value }`; `{}` for undefined. Values are taken as `JSON.stringify` takes them.
 *
 * @throws InvalidResultError naming the path of what JSON can't carry: functions, bigints, maps, cycles.
 */
export function toFunctionResponse(value: unknown): Record<string, unknown> {
  const json = jsonResult(value);
  if (json === undefined) return {};
  return isRecord(json) ? json : { result: json };
}

const trustedResults = new WeakSet<object>();

/** The result, which is trusted from now on, whichever tool returns it. */
export function trustedResult<T extends object>(result: T): T {
  trustedResults.add(result);
  return result;
}

export function isTrustedResult(value: unknown): boolean {
  return typeof value === 'object' && value !== null && trustedResults.has(value);
}

/** @throws InvalidResultError */
export function jsonResult(value: unknown): unknown {
  try {
    return toJsonValue(value);
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    const place = error.path === '' ? '' : ` at ${error.path}`;
    throw new InvalidResultError(`the result can't be sent as JSON${place}: ${error.problem}`, {
      cause: error,
    });
  }
}

/** The result of an action of `Context.once`, as JSON carries it. */
export function onceResult(key: string, value: unknown): unknown {
  try {
    return toJsonValue(value);
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    // The action has happened: another attempt would repeat it.
    throw new ToolError(`once(${JSON.stringify(key)}): the result can't be recorded: ${error.message}`, {
      code: 'HOLDFAST_ONCE_RESULT',
      retryable: false,
      cause: error,
    });
  }
}

/** The schema of a response whose result fits this one: results that are no objects are sent as `{ result }`. */
export function responseSchema(jsonSchema: JsonSchemaObject): JsonSchemaObject {
  const object = withObjectRoot(jsonSchema);
  if (object !== undefined) return object;
  const { $defs, ...result } = jsonSchema;
  return {
    type: 'object',
    properties: { result },
    required: ['result'],
    ...($defs === undefined ? {} : { $defs }),
  };
}
