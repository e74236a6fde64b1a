import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { isRecord } from '../schema/kind-of.ts';
import { InvalidResultError } from './tool-error.ts';

/**
 * What the model gets as the response of a call: a JSON object as it is; anything else, arrays too, as
 * `{ result: value }`; `{}` for undefined. Values are taken as `JSON.stringify` takes them.
 *
 * @throws InvalidResultError naming the path of what JSON can't carry: functions, bigints, maps, cycles.
 */
export function toFunctionResponse(value: unknown): Record<string, unknown> {
  const json = jsonResult(value);
  if (json === undefined) return {};
  return isRecord(json) ? json : { result: json };
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
