import type { z } from 'zod';
import { isObject, shapeOf, take } from '../contract/check.ts';
import { checkOf, type Exact, type InputOf, type Operation } from '../contract/operation.ts';
import { InvalidTurn } from './client-errors.ts';

type InvalidClass = new (message: string) => Error;

type CallerOf<Of extends Operation> = Of['caller'] extends z.ZodObject
  ? Exact<z.output<Of['caller']>>
  : Record<never, never>;

/**
 * The input and the caller of an operation, with the known fields only.
 *
 * @param named what stands beside the options: `jobs.complete(jobId, options)`.
 * @throws an error of the class `Invalid` that names the method and the field, and never the value.
 */
export function checkedInput<Of extends Operation>(
  operation: Of,
  given: object,
  { named = {}, Invalid = InvalidTurn }: { named?: object; Invalid?: InvalidClass } = {},
): { input: InputOf<Of>; caller: CallerOf<Of> } {
  const { name, input, caller } = operation;
  const of = (schema: z.ZodObject) =>
    checkedFields(schema, { ...asObject(given, name, Invalid), ...named }, name, Invalid);
  return {
    input: of(input) as InputOf<Of>,
    caller: (caller === undefined ? {} : of(caller)) as CallerOf<Of>,
  };
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
  const { value, problem } = take<Exact<z.output<Schema>>>(checkOf(schema), asObject(given, method, Invalid));
  if (problem !== undefined) throw new Invalid(`${method}: ${problem.field}: ${problem.problem}`);
  return value;
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
