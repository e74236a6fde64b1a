import type { z } from 'zod';
import { type Check, isObject, shapeOf, take } from '../contract/check.ts';
import { checkOf, type Exact, type InputOf, type Operation } from '../contract/operation.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { InvalidTurn } from './client-errors.ts';

type InvalidClass = new (message: string) => Error;

/**
 * The input of an operation, with the known fields only.
 *
 * @throws an error of the class `Invalid` that names the method and the field, and never the value.
 */
export function checkedInput<Of extends Operation>(
  { name, input }: Of,
  given: object,
  Invalid: InvalidClass = InvalidTurn,
): InputOf<Of> {
  return checkedFields(input, given, name, Invalid) as InputOf<Of>;
}

/**
 * The known fields of what a method was given.
 *
 * @throws as {@link checkedInput}
 */
export function checkedFields<Schema extends z.ZodObject>(
  schema: Schema,
  given: object,
  method: string,
  Invalid: InvalidClass = InvalidTurn,
): Exact<z.output<Schema>> {
  const check = checkOf(schema);
  const json = asJson(check, asObject(given, method, Invalid), method, Invalid);
  const { value, problem } = take<Exact<z.output<Schema>>>(check, json);
  if (problem !== undefined) throw new Invalid(`${method}: ${problem.field}: ${problem.problem}`);
  return value;
}

/** Refuses values that JSON would silently drop, of fields that are any JSON. */
function asJson({ properties = {} }: Check, given: object, method: string, Invalid: InvalidClass): object {
  const fields = Object.keys(properties).filter((field) => properties[field]?.['x-json'] && field in given);
  if (fields.length === 0) return given;
  const jsonOf = (field: string) => {
    try {
      return toJsonValue((given as Record<string, unknown>)[field]);
    } catch (error) {
      if (!(error instanceof JsonValueError)) throw error;
      const path = error.path === '' ? field : `${field}.${error.path}`;
      throw new Invalid(`${method}: ${path}: ${error.problem}`);
    }
  };
  return { ...given, ...Object.fromEntries(fields.map((field) => [field, jsonOf(field)])) };
}

function asObject(given: unknown, method: string, Invalid: InvalidClass): object {
  if (isObject(given)) return given;
  throw new Invalid(`${method}: expected an object, got ${shapeOf(given)}`);
}

/**
 * Milliseconds that a caller waits, or the default. Contracts have no limit of it: the gateway's is that of its own answer.
 *
 * @throws InvalidTurn for anything but a finite number from 0.
 */
export function checkedTimeout(timeout: number | undefined, otherwise: number): number {
  if (timeout === undefined) return otherwise;
  if (typeof timeout === 'number' && Number.isFinite(timeout) && timeout >= 0) return timeout;
  const given = typeof timeout === 'number' ? String(timeout) : shapeOf(timeout);
  throw new InvalidTurn(`timeout: expected milliseconds from 0, got ${given}`);
}
