import { codedError } from '../contract/error.ts';
import { MOST_LEVELS, tooDeepText } from '../contract/message-limits.ts';
import { isRecord } from '../protocol/json.ts';
import { kindOf } from './kind-of.ts';
import { formatPath, type Path } from './path.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/**
 * Deeper values break JSON parsers, Postgres and `Struct` of the Gemini API one after another. An event carries what has
 * {@link MOST_LEVELS} itself.
 */
const DEEPEST = 2 * MOST_LEVELS;

/** A value has no JSON form. */
export class JsonValueError extends codedError('HOLDFAST_NOT_JSON') {
  /** Where in the value, `items[2].price`; empty for the value itself. */
  readonly path: string;
  readonly at: Path;
  readonly problem: string;

  constructor(path: Path, problem: string, options?: ErrorOptions) {
    const text = formatPath(path);
    super(text === '' ? problem : `${text}: ${problem}`, options);
    this.path = text;
    this.at = path;
    this.problem = problem;
  }
}

/**
 * The value as `JSON.parse(JSON.stringify(value))` returns it, `toJSON` included, but with an error where JSON would silently drop
 * a part:  functions, symbols, maps, sets, errors, promises, binary data.
 *
 * @returns undefined for undefined.
 * @throws JsonValueError naming the path.
 */
export function toJsonValue(value: unknown): JsonValue | undefined {
  return new JsonCopy().of(value, []);
}

class JsonCopy {
  readonly #open = new Set<object>();

  of(given: unknown, path: PropertyKey[]): JsonValue | undefined {
    const value = this.#replaced(given, path);
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) ? value + 0 : null;
      case 'undefined':
        return undefined;
      case 'object':
        return value === null ? null : this.#ofObject(value, path);
      case 'bigint':
        throw new JsonValueError(path, 'JSON has no bigint; give a number or a string');
      default:
        throw new JsonValueError(path, `JSON has no ${typeof value}; leave it out`);
    }
  }

  #replaced(given: unknown, path: PropertyKey[]): unknown {
    if ((typeof given !== 'object' || given === null) && typeof given !== 'bigint') return given;
    // A Buffer's own toJSON spells out each byte.
    if (ArrayBuffer.isView(given)) return given;
    const toJSON = read(given, 'toJSON', path);
    const value =
      typeof toJSON === 'function' ? attempt(path, 'toJSON', () => toJSON.call(given, keyOf(path))) : given;
    if (value instanceof Number || value instanceof String || value instanceof Boolean)
      return value.valueOf();
    return value;
  }

  #ofObject(value: object, path: PropertyKey[]): JsonValue {
    if (this.#open.has(value)) throw new JsonValueError(path, 'refers back to an object that contains it');
    if (path.length > DEEPEST) throw new JsonValueError(path, tooDeepText(DEEPEST));
    const [lost, isArray] = attempt(path, 'reading it', () => [whatJsonLoses(value), Array.isArray(value)]);
    if (lost !== undefined) throw new JsonValueError(path, lost);
    this.#open.add(value);
    const copy = isArray ? this.#ofArray(value as unknown[], path) : this.#ofRecord(value, path);
    this.#open.delete(value);
    return copy;
  }

  #ofArray(value: unknown[], path: PropertyKey[]): JsonValue {
    return Array.from({ length: value.length }, (_, index) => {
      const at = [...path, index];
      return this.of(read(value, index, at), at) ?? null;
    });
  }

  #ofRecord(value: object, path: PropertyKey[]): JsonValue {
    const entries: [string, JsonValue][] = [];
    for (const key of attempt(path, 'reading it', () => Object.keys(value))) {
      const at = [...path, key];
      const member = this.of(read(value, key, at), at);
      if (member !== undefined) entries.push([key, member]);
    }
    // Unlike an assignment, this takes a key `__proto__` for what it is.
    return Object.fromEntries(entries);
  }
}

const GENERATORS: ReadonlySet<string> = new Set(['[object Generator]', '[object AsyncGenerator]']);

function whatJsonLoses(value: object): string | undefined {
  if (value instanceof Map) return 'JSON has no Map; give Object.fromEntries(map)';
  if (value instanceof Set) return 'JSON has no Set; give [...set]';
  if (value instanceof Promise) return 'a promise; await it first';
  if (value instanceof Error) return 'an Error as a value; throw it, or give its message';
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Blob) {
    return 'JSON has no binary data; give a base64 string';
  }
  if (GENERATORS.has(Object.prototype.toString.call(value))) {
    return 'a generator; give the values that it yields';
  }
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof RegExp) {
    return `JSON has no ${value.constructor.name}`;
  }
  return undefined;
}

function read(target: unknown, key: PropertyKey, path: Path): unknown {
  return attempt(path, 'reading it', () => (target as Record<PropertyKey, unknown>)[key]);
}

function attempt<T>(path: Path, what: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    throw new JsonValueError(path, `${what} threw (${kindOfThrown(cause)})`, { cause });
  }
}

function kindOfThrown(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : kindOf(thrown);
}

function keyOf(path: Path): string {
  return path.length === 0 ? '' : String(path.at(-1));
}

/** The record that some bytes are the JSON of; undefined for anything else, whose text is told to nobody. */
export function jsonRecordOf(bytes: Uint8Array | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
