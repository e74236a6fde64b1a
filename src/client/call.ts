import type { z } from 'zod';
import type { HoldfastErrorOptions } from '../contract/error.ts';
import { HoldfastError } from '../contract/error.ts';
import type { ErrorCode } from '../contract/error-codes.ts';
import {
  type Call,
  type Caller,
  checkOf,
  type InputOf,
  type Operation,
  type OutputOf,
} from '../contract/operation.ts';
import { defined } from '../protocol/json.ts';
import { checkedFields, checkedTimeout } from './checked-input.ts';
import { InvalidJob, InvalidTurn } from './client-errors.ts';
import { type GatewayConnection, SENDABLE } from './gateway-connection.ts';

type ToldClass = new (message: string, options?: HoldfastErrorOptions) => HoldfastError;

/** The error of input that can't be taken, by the code of the operation. */
const INVALID: Partial<Record<ErrorCode, ToldClass>> = { HOLDFAST_INVALID_JOB: InvalidJob };

/** Handlers whose types were held against their operations where they stand. */
type AnyHandlers<Context> = Readonly<
  Record<string, (input: never, context: Context, caller: Caller) => Promise<unknown>>
>;

/** Performs operations here: each is checked, then done by its handler. */
export function direct<Context>(handlers: AnyHandlers<Context>, context: Context): Call {
  return async <Of extends Operation>(operation: Of, given: InputOf<Of>, caller: Caller) => {
    const handle = handlers[operation.name];
    if (handle === undefined) throw new TypeError(`nothing performs ${operation.name} here`);
    return (await handle(checkedOf(operation, given, false) as never, context, caller)) as OutputOf<Of>;
  };
}

/** Has a gateway perform them. */
export function overHttp(connection: GatewayConnection): Call {
  return async <Of extends Operation>(operation: Of, given: InputOf<Of>, caller: Caller) => {
    const { absent, refused } = operation;
    const input = checkedOf(operation, given, true);
    const way = { headers: headersOf(operation, caller) };
    try {
      return await connection.call<OutputOf<Of>>(operation, input, way);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      if (error.code === absent) return undefined as OutputOf<Of>;
      const told = error.code === refused?.error ? error.details?.[refused.field] : undefined;
      if (told === undefined) throw error;
      return told as OutputOf<Of>;
    }
  };
}

/**
 * The caller that a method's options name: the owner of the thing's own token, else an operator.
 *
 * @throws an error of the operation's class, as {@link checkedFields}
 */
export function callerOf(operation: Operation & { caller: z.ZodObject }, options: object): Caller {
  const { name, caller } = operation;
  const said: { token?: string; person?: string } = checkedFields(
    caller,
    options,
    name,
    invalidOf(operation),
  );
  const { token, person } = said;
  return token === undefined ? { by: 'operator', ...defined({ person }) } : { by: 'token', token };
}

/**
 * The checked input.
 *
 * @param isBounded the wait for a worker is no longer than the contract allows; directly it is as long as it is asked for.
 */
function checkedOf<Of extends Operation>(operation: Of, given: object, isBounded: boolean): InputOf<Of> {
  const { name, input, checked = input } = operation;
  const { timeout: wait } = input.shape as Readonly<Record<string, z.ZodType>>;
  const known = wait === undefined ? given : { ...given, timeout: undefined };
  const taken: object = checkedFields(checked, known, name, invalidOf(operation));
  const secret = Object.entries(given).filter(([field]) => field in input.shape && !(field in checked.shape));
  const all = { ...taken, ...Object.fromEntries(secret) } as InputOf<Of>;
  const { timeout } = given as { timeout?: number };
  if (wait === undefined || timeout === undefined) return all;
  const time = checkedTimeout(timeout, 0);
  const { maximum = time } = checkOf(wait);
  return { ...all, timeout: isBounded ? Math.round(Math.min(maximum, time)) : time };
}

function invalidOf({ invalid }: Operation): ToldClass {
  return (invalid && INVALID[invalid]) ?? InvalidTurn;
}

/** A token of the thing itself goes in the place of the gateway's. The gateway knows an operator by its own token. */
function headersOf(operation: Operation, caller: Caller): Record<string, string> {
  if (caller.by === 'operator') return {};
  if (caller.token !== '' && SENDABLE.test(caller.token)) return { authorization: `Bearer ${caller.token}` };
  throw new (invalidOf(operation))(`${operation.name}: token: expected context.job.token, or nothing`);
}
