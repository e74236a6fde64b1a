import { jsonBytes } from './json-bytes.ts';
import { nestingProblem } from './message-limits.ts';
import { isUndecodable, undecodableText } from './undecodable.ts';

/**
 * Checks for a value: JSON Schema, as far as contracts use it, and rules that JSON Schema has no word for. Plain data, which
 * workflows carry without the library that it is written with.
 */
export interface Check {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Check[];
  readonly properties?: Readonly<Record<string, Check>>;
  readonly required?: readonly string[];
  /** Absent: other fields are left out. `false`: they are refused. Anything else: they are kept. */
  readonly additionalProperties?: boolean | Check;
  readonly items?: Check;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** Required fields. Where null counts as absent, a null field is missing. */
  readonly minProperties?: number;
  /** Characters as people count them: an emoji is one. */
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly description?: string;
  readonly default?: unknown;
  /** Words for the expected value, when the rest doesn't say them. */
  readonly 'x-expected'?: string;
  /** Advice for a caller that sends too much. */
  readonly 'x-instead'?: string;
  /** Bytes of its JSON in UTF-8, at most. */
  readonly 'x-max-bytes'?: number;
  /** Objects and lists in it are nested as deep as every side can walk them. */
  readonly 'x-flat'?: true;
  /** A value of a program is checked to be JSON, which drops nothing of it in silence. */
  readonly 'x-json'?: true;
  /** A name that paths of the gateway have later. */
  readonly 'x-path-part'?: true;
  /** Name in the OpenAPI document. */
  readonly 'x-name'?: string;
  /** Text of the OpenAPI document at this place only. */
  readonly 'x-here'?: object;
  /** Unknown fields are left out also where others are refused. */
  readonly 'x-leaves-out'?: true;
  /** Fields that are null are left out, known or not. */
  readonly 'x-without-nulls'?: true;
}

declare const PASSED: unique symbol;

/** A check, and the type of what passes it. */
export interface CheckOf<T> extends Check {
  readonly [PASSED]?: T;
}

/** Path of the field (`after.since`, `parts[0]`, empty for the value itself) and its problem, never the value. */
export interface Problem {
  field: string;
  problem: string;
}

export type Taken<T> = { value: T; problem?: undefined } | { value?: undefined; problem: Problem };

export interface TakeOptions {
  /** Null counts as absent, as other languages' serialisers write it. */
  nullIsAbsent?: boolean;
  /** Fields that aren't known are refused, also where the schema doesn't say so. */
  isStrict?: boolean;
  /** Known fields that may have been meant by an unknown one. */
  hint?: (name: string, known: readonly string[]) => string;
}

/** The value with its known fields only, or the first thing that is wrong with it. */
export function take<T>(check: CheckOf<T>, value: unknown, options: TakeOptions = {}): Taken<T> {
  const { problems, taken } = takeAll(check, value, 1, options);
  const [problem] = problems;
  return problem === undefined ? { value: taken as T } : { problem };
}

/** As {@link take}, with the first problems, at most so many: a value with millions of them is left at these. */
export function takeAll(
  check: Check,
  value: unknown,
  most: number,
  options: TakeOptions = {},
): { taken: unknown; problems: Problem[] } {
  const reading = new Reading(most, options);
  const taken = reading.of(check, value, '', false);
  return { taken, problems: reading.problems };
}

class Reading {
  readonly problems: Problem[] = [];
  readonly #most: number;
  readonly #options: TakeOptions;

  constructor(most: number, options: TakeOptions) {
    this.#most = most;
    this.#options = options;
  }

  get #isOver(): boolean {
    return this.problems.length >= this.#most;
  }

  of(check: Check, value: unknown, field: string, isOptional: boolean): unknown {
    const tooMuch = check['x-flat'] === true ? nestingProblem(value) : undefined;
    if (tooMuch !== undefined) return this.#refuse(field, tooMuch);
    const { anyOf } = check;
    if (anyOf !== undefined) return this.#ofEither(check, anyOf, value, field, isOptional);
    if (!isOf(check, value)) return this.#expected(check, value, field, isOptional);
    const size = sizeProblem(check, value);
    if (size !== undefined) return this.#refuse(field, size);
    if (typeof value === 'string') return value.toWellFormed();
    if (Array.isArray(value)) return this.#ofList(check, value, field);
    return isObject(value) && check.properties !== undefined ? this.#ofObject(check, value, field) : value;
  }

  #ofEither(
    check: Check,
    anyOf: readonly Check[],
    value: unknown,
    field: string,
    isOptional: boolean,
  ): unknown {
    const fitting = anyOf.filter((each) => isOf(each, value));
    // With a single schema of its type, the inner problem helps most.
    const [only, ...others] = fitting;
    if (only !== undefined && others.length === 0) return this.of(only, value, field, isOptional);
    for (const each of fitting) {
      const reading = new Reading(1, this.#options);
      const taken = reading.of(each, value, field, isOptional);
      if (reading.problems.length === 0) return taken;
    }
    return this.#expected(check, value, field, isOptional);
  }

  #ofList({ items }: Check, value: readonly unknown[], field: string): unknown {
    if (items === undefined) return value;
    const taken: unknown[] = [];
    for (const [index, each] of value.entries()) {
      if (this.#isOver) break;
      taken.push(this.of(items, each, `${field}[${index}]`, false));
    }
    return taken;
  }

  #ofObject(check: Check, value: object, field: string): unknown {
    const { properties = {}, required = [], additionalProperties } = check;
    const given = new Map<string, unknown>(fieldsOf(check, value));
    const taken: [string, unknown][] = [];
    for (const [name, inner] of Object.entries(properties)) {
      const at = field === '' ? name : `${field}.${name}`;
      const isOptional = !required.includes(name);
      const one = given.get(name);
      given.delete(name);
      if (isOptional && (one === undefined || (one === null && this.#isNothing(inner)))) continue;
      if (one === undefined) this.#expected(inner, one, at, isOptional);
      else taken.push([name, this.of(inner, one, at, isOptional)]);
    }
    const takesOthers =
      additionalProperties ?? (check['x-leaves-out'] === true || this.#options.isStrict !== true);
    if (takesOthers === false) this.#refuseUnknown([...given.keys()], Object.keys(properties), field);
    else if (additionalProperties !== undefined) for (const field of given) taken.push(field);
    // An assignment to `__proto__` would set the prototype.
    return Object.fromEntries(taken);
  }

  /** Whether null says that there is nothing; among any JSON it is a value. */
  #isNothing({ type, anyOf = [], enum: values }: Check): boolean {
    if (type === undefined && anyOf.length === 0 && values === undefined) return false;
    return this.#options.nullIsAbsent === true || anyOf.some((each) => each.type === 'null');
  }

  #refuseUnknown(unknown: readonly string[], known: readonly string[], field: string): void {
    const { hint } = this.#options;
    for (const name of unknown) {
      if (this.#isOver) return;
      this.#refuse(field, noSuchField(name, known, hint));
    }
  }

  #expected(check: Check, value: unknown, field: string, isOptional: boolean): undefined {
    const orNothing = isOptional ? ' or nothing' : '';
    return this.#refuse(field, `expected ${expectedBy(check)}${orNothing}, got ${shapeOf(value)}`);
  }

  #refuse(field: string, problem: string): undefined {
    this.problems.push({ field, problem });
    return undefined;
  }
}

/** The problem of a field that is not known, by the start of its name. */
export function noSuchField(name: string, known: readonly string[], hint: TakeOptions['hint']): string {
  const shown = name.slice(0, 100);
  return `there is no field ${JSON.stringify(shown)}${hint?.(shown, known) ?? ''}`;
}

function fieldsOf(check: Check, value: object): [string, unknown][] {
  const fields = Object.entries(value);
  return check['x-without-nulls'] === true ? fields.filter(([, field]) => field !== null) : fields;
}

/** Whether the value is of the kind; its content and size are not looked at. */
function isOf(check: Check, value: unknown): boolean {
  const {
    type,
    pattern,
    minimum,
    maximum,
    exclusiveMinimum,
    minLength = 0,
    minItems = 0,
    minProperties = 0,
  } = check;
  if (check.anyOf !== undefined) return check.anyOf.some((each) => isOf(each, value));
  if (check.enum !== undefined && !check.enum.includes(value)) return false;
  if (check.const !== undefined && check.const !== value) return false;
  if (type !== undefined && ![type].flat().some((each) => isOfType(each, value))) return false;
  if (typeof value === 'number') {
    if (minimum !== undefined && value < minimum) return false;
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return false;
    return maximum === undefined || value <= maximum;
  }
  if (typeof value === 'string') {
    return value.length >= minLength && (pattern === undefined || new RegExp(pattern, 'u').test(value));
  }
  if (Array.isArray(value)) return value.length >= minItems;
  return minProperties === 0 || !isObject(value) || fieldsOf(check, value).length >= minProperties;
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

function sizeProblem(check: Check, value: unknown): string | undefined {
  const { maxLength, maxItems, 'x-max-bytes': mostBytes, 'x-instead': instead = 'shorten it' } = check;
  if (typeof value === 'string' && maxLength !== undefined && isLongerThan(value, maxLength)) {
    return `${charactersOf(value)} characters, at most ${maxLength} are allowed: ${instead}`;
  }
  if (Array.isArray(value) && maxItems !== undefined && value.length > maxItems) {
    return `a list of ${value.length}, at most ${maxItems} are allowed: ${instead}`;
  }
  if (mostBytes === undefined) return undefined;
  const bytes = bytesOf(value);
  if (typeof bytes === 'string') return `expected JSON: ${bytes}`;
  return bytes > mostBytes
    ? `${bytes} bytes of JSON, at most ${mostBytes} are allowed: ${instead}`
    : undefined;
}

function bytesOf(value: unknown): number | string {
  try {
    return jsonBytes(value);
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
  }
}

function isLongerThan(text: string, most: number): boolean {
  return text.length > 2 * most || (text.length > most && charactersOf(text) > most);
}

/** Characters as people count them: an emoji is one. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _character of text) count += 1;
  return count;
}

function expectedBy(check: Check): string {
  const { 'x-expected': expected, enum: values, anyOf, type, minimum, maximum } = check;
  if (expected !== undefined) return expected;
  if (values !== undefined) return listed(values.map((value) => `'${String(value)}'`));
  if (anyOf !== undefined) return listed(anyOf.filter((each) => each.type !== 'null').map(expectedBy));
  const range = rangeText(minimum, maximum);
  switch ([type].flat()[0]) {
    case 'string':
      return check.minLength === undefined && check.pattern === undefined ? 'text' : 'a non-empty string';
    case 'integer':
      return `a whole number${range}`;
    case 'number':
      return `a number${range}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return check.minItems === undefined ? 'a list' : 'a list with something in it';
    case 'object':
      return 'an object';
    default:
      return 'JSON';
  }
}

function rangeText(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum === undefined || minimum === Number.MIN_SAFE_INTEGER) return '';
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? ` from ${minimum} on`
    : ` from ${minimum} to ${maximum}`;
}

function listed(ones: readonly string[]): string {
  const last = ones.at(-1) ?? '';
  return ones.length < 2 ? last : `${ones.slice(0, -1).join(', ')} or ${last}`;
}

/** The kind of the value. Its content may be a secret. */
export function shapeOf(value: unknown): string {
  if (isUndecodable(value)) return undecodableText(value);
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value === '') return 'an empty string';
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return typeof value;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value) &&
    !isUndecodable(value)
  );
}
