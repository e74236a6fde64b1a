import { z } from 'zod';
import type { Event } from '../events/event.ts';
import { type Check, isObject } from './check.ts';
import type { ErrorCode } from './error-codes.ts';
import type { Permission } from './lists.ts';

/** An operation of Holdfast: its input, output and errors, by which clients and commands check both. */
export interface Contract<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodType = z.ZodType> {
  /** The method of a client, `jobs.complete`. */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly input: Input;
  /** `z.never()` where the answer is a stream in any case. */
  readonly output: Output;
  /** Codes of errors beside those that every operation may answer with. */
  readonly errors?: readonly ErrorCode[];
}

/**
 * An operation that the gateway serves, too: its route, its place in the OpenAPI document and the request of a
 * `GatewayClient`.
 */
export interface Operation<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodType = z.ZodType>
  extends Contract<Input, Output> {
  /** `operationId` of the OpenAPI document; with a capital letter the name of its body there. */
  readonly id: string;
  readonly tag: string;
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Fields of the input stand in braces. Others go in the body of `post`, and else in the query. */
  readonly path: string;
  /** Fields of a method's options in which callers name themselves; they go in a header or nowhere. */
  readonly caller?: z.ZodObject;
  /** Names on the wire that differ from the fields' names: `{ 'after.since': 'afterTime' }`. */
  readonly wire?: Readonly<Record<string, string>>;
  /** Fields of a `post` that go in the query. */
  readonly query?: readonly string[];
  /** Fields that go in headers. */
  readonly headers?: readonly string[];
  /** Description of the output in the OpenAPI document. */
  readonly answer: string;
  /** The body, or the answer, is bytes of any type and no JSON. */
  readonly bytes?: 'body' | 'answer';
  /** Server-sent events that a caller may accept in place of the output. */
  readonly stream?: string;
  /** The answer with 202 while the output isn't there yet, and the field that it lacks. */
  readonly unfinished?: { readonly without: string; readonly output: z.ZodType; readonly answer: string };
  /** @default 200 */
  readonly status?: 200 | 201 | 202;
  /** Permission that it takes. Each operation says it itself: a spread would pass it on unseen. */
  readonly may: May;
  /** The part of the input that clients check, where the rest may be a secret: the handler checks that and quotes nothing of it. */
  readonly checked?: z.ZodObject;
  /** Safe to send again: it is while the gateway can't be reached, a few times. */
  readonly repeats?: true;
  /** Code of the error of input that can't be taken. @default 'HOLDFAST_INVALID_TURN' */
  readonly invalid?: ErrorCode;
  /** A method gives undefined where the gateway answers with this error. */
  readonly absent?: ErrorCode;
  /** An answer with the status `refused`, which the gateway tells as this error, and as a field of it. */
  readonly refused?: { readonly error: ErrorCode; readonly field: string };
  /** Bytes of its body at most, where the gateway itself takes as many. @default 4 MiB */
  readonly mostBytes?: number;
}

/** The right that an operation takes. */
export type May = {
  /** One of these is enough. */
  readonly permission: Permission | readonly Permission[];
} & (
  | {
      /** The app and user of the path, of the query, or of the thing that the path names. */
      readonly of: 'path' | 'query' | 'request';
      readonly own?: never;
    }
  | {
      readonly of: 'job';
      /** The job's own token opens it, too. */
      readonly own?: true;
    }
);

/** The party that speaks: an operator, by name where that is known, or the owner of the thing's own token. */
export type Caller =
  | { readonly by: 'operator'; readonly person?: string }
  | { readonly by: 'token'; readonly token: string };

export const OPERATOR: Caller = { by: 'operator' };

/** Operations of a noun by the names of their methods. One method may have several routes, which have its name. */
export type Noun = Readonly<Record<string, Operation | readonly Operation[]>>;

export type OperationsOf<Of extends Noun> = Extract<
  { [Method in keyof Of]: Of[Method] extends readonly (infer Each)[] ? Each : Of[Method] }[keyof Of],
  Operation
>;

/** The answer that a caller gets. */
export type OutputOf<Of extends Operation> =
  | Exact<z.output<Of['output']>>
  | (Of['absent'] extends string ? undefined : never);

/** Performs operations, by whatever way. */
export type Call = <Of extends Operation>(
  operation: Of,
  input: InputOf<Of>,
  caller: Caller,
) => Promise<OutputOf<Of>>;

/** One function for each operation: what performs it. */
export type Handlers<Of extends Operation, Context> = {
  readonly [Name in Of['name']]: (
    input: InputsOf<Extract<Of, { name: Name }>>,
    context: Context,
    caller: Caller,
  ) => Promise<OutputOf<Extract<Of, { name: Name }>>>;
};

/** One of the inputs of operations that share a name. */
type InputsOf<Of extends Operation> = Of extends Operation ? InputOf<Of> : never;

/** A class that `implements` this has a method for each operation of a noun. */
export type MethodsOf<Of extends Noun> = Readonly<Record<keyof Of, (...given: never[]) => Promise<unknown>>>;

/** Optional fields are absent, never `undefined` or null; fields that aren't known are no part of it. Events are ADK's own. */
export type Exact<T> = T extends Event
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Exact<Item>[]
    : T extends object
      ? keyof Known<T> extends never
        ? T
        : Known<T>
      : T;

type Known<T> = {
  [Field in keyof T as string extends Field ? never : Field]: Exact<
    undefined extends T[Field] ? Exclude<T[Field], undefined | null> : T[Field]
  >;
};

/** The JSON form of a `T`: as {@link Exact}, and JSON leaves out `undefined`. */
export type Told<T> = T extends readonly (infer Item)[]
  ? readonly Told<Item>[]
  : T extends object
    ? keyof Known<T> extends never
      ? T
      : { [Field in keyof T as string extends Field ? never : Field]: Told<T[Field]> }
    : T;

export type InputOf<Of extends Pick<Contract, 'input'>> = Exact<z.output<Of['input']>>;

/** Takes what a handler has left of its input: a field that the handler doesn't use doesn't compile. */
export function spent<Rest>(_rest: keyof Rest extends never ? Rest : { unused: keyof Rest }): void {}

const CHECKS = new WeakMap<z.ZodType, Check>();

/** A schema as plain data; the same for the same schema. */
export function checkOf(schema: z.ZodType): Check {
  const known = CHECKS.get(schema);
  if (known !== undefined) return known;
  const {
    $schema: _of,
    $defs = {},
    ...json
  } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const check = inlined(json, $defs) as Check;
  CHECKS.set(schema, check);
  return check;
}

/** Named schemas stand wherever they are used, so that nothing has to be looked up; their names are for the document. */
function inlined(schema: unknown, named: Readonly<Record<string, object>>): unknown {
  if (Array.isArray(schema)) return schema.map((each) => inlined(each, named));
  if (!isObject(schema)) return schema;
  const { $ref, ...here } = schema;
  const name = typeof $ref === 'string' ? $ref.slice('#/$defs/'.length) : undefined;
  const whole = name === undefined ? schema : { ...named[name], 'x-name': name, 'x-here': here };
  return Object.fromEntries(Object.entries(whole).map(([field, of]) => [field, inlined(of, named)]));
}

/** A field of an operation's input, and where it stands in a request. */
interface Place {
  /** Names from the input's root: `after`, `since`. */
  field: readonly string[];
  in: 'path' | 'query' | 'header' | 'body';
  /** On the wire. */
  name: string;
  check: Check;
  isRequired: boolean;
}

const PLACES = new WeakMap<Operation, readonly Place[]>();

export function placesOf(operation: Operation): readonly Place[] {
  const known = PLACES.get(operation);
  if (known !== undefined) return known;
  const { path, method, wire = {}, query = [], headers = [], input } = operation;
  const inner = Object.keys(wire).filter((field) => field.includes('.'));
  const placed = (field: readonly string[], check: Check, isRequired: boolean): Place[] => {
    const text = field.join('.');
    if (inner.some((each) => each.startsWith(`${text}.`))) {
      // Several on the wire; the first of them says whether there is any.
      return Object.entries(check.properties ?? {}).flatMap(([name, of]) =>
        placed([...field, name], of, false),
      );
    }
    const name = wire[text] ?? text;
    return [{ field, in: placeOf(text, name), name, check, isRequired }];
  };
  const placeOf = (field: string, name: string): Place['in'] => {
    if (path.includes(`{${name}}`)) return 'path';
    if (headers.includes(field)) return 'header';
    return method !== 'post' || query.includes(field) ? 'query' : 'body';
  };
  const { properties = {}, required = [] } = checkOf(input);
  const places = Object.entries(properties).flatMap(([name, of]) =>
    placed([name], of, required.includes(name)),
  );
  PLACES.set(operation, places);
  return places;
}

export function requestOf(
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
): {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  headers: Record<string, string>;
  body?: Record<string, unknown>;
} {
  let { path } = operation;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  const body: Record<string, unknown> = {};
  for (const { field, in: place, name } of placesOf(operation)) {
    const value = field.reduce<unknown>((at, part) => (isObject(at) ? at[part] : undefined), input);
    if (value === undefined) continue;
    if (place === 'body') body[name] = value;
    else if (place === 'query') query.set(name, String(value));
    else if (place === 'header') headers[name] = String(value);
    else path = path.replace(`{${name}}`, () => encodeURIComponent(String(value)));
  }
  const method = operation.method.toUpperCase() as 'GET' | 'POST' | 'PUT' | 'DELETE';
  return {
    method,
    path: query.size === 0 ? path : `${path}?${query}`,
    headers,
    ...(method === 'POST' ? { body } : {}),
  };
}

/** A received request, by the names on the wire; texts of path, query and headers are not parsed yet. */
export interface Received {
  path: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  /** By their names in lower case. */
  header: Readonly<Record<string, unknown>>;
  body: Readonly<Record<string, unknown>>;
}

/** Bytes of a name in a path: four of them are less than the headers that the gateway takes. */
const LONGEST_IN_PATH = 15_000;

/** The problem of a name in a path; undefined without a problem. */
export function pathPartProblem(name: string): string | undefined {
  // Every URL parser takes `.` and `..` for steps, encoded too.
  if (name === '.' || name === '..') return '"." and ".." can’t stand in a path: use another name';
  return encodeURIComponent(name.toWellFormed()).length > LONGEST_IN_PATH
    ? `expected a name of at most ${LONGEST_IN_PATH} bytes when it is URI-encoded`
    : undefined;
}

/** The unchecked input of a request. */
export function inputFrom(operation: Operation, received: Received): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const { field, in: place, name, check } of placesOf(operation)) {
    const given = received[place][name];
    if (given === undefined) continue;
    const value = place === 'query' ? readText(check, given) : given;
    const [first = '', second] = field;
    if (second === undefined) input[first] = value;
    else input[first] = { ...(input[first] as object | undefined), [second]: value };
  }
  return input;
}

const WHOLE = /^\d{1,16}$/;
const NUMBER = /^\d{1,16}(\.\d{1,20})?$/;

/** A text of a query or an option, parsed for its field; unchanged where it doesn't parse. */
export function readText({ type }: Check, given: unknown): unknown {
  if (typeof given !== 'string') return given;
  if (type === 'integer') return WHOLE.test(given) ? Number(given) : given;
  if (type === 'number') return NUMBER.test(given) ? Number(given) : given;
  if (type === 'boolean') return given === 'true' || (given === 'false' ? false : given);
  return type === 'array' ? given.split(',') : given;
}
