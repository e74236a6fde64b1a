import { JSONPathEnvironment, type JSONValue } from 'json-p3';
import { kindOf } from '../schema/kind-of.ts';
import { type LinearPattern, linearPattern } from '../schema/linear-pattern.ts';
import { thrownMessage } from '../schema/thrown-message.ts';

/** A place in a document and its value. */
export interface PathMatch {
  /** Normalized path: `$['orders'][0]`. */
  path: string;
  value: unknown;
}

/** Characters. */
const LONGEST_PATH = 500;
/** Work of a query: steps of patterns for each character, and reads for each character of the path, which may be filters of all. */
const MOST_WORK = 100_000_000;
/** Read besides. */
const ONE_READ = 30;
/** Characters that are compared as quickly as one step is done. */
const COMPARED_AT_ONCE = 16;
/** To compile a pattern, for each of its characters. */
const COMPILED = 5_000;
/** Steps of a pattern that is searched, with its repetitions written out. */
export const MOST_SEARCHED = 500;
export const NOT_SEARCHED = `a pattern is searched that has at most ${MOST_SEARCHED} steps with its repetitions written out, and neither look-around nor back references`;
/** Levels of a document that a descent looks at: each place is written with those around it. */
const DEEPEST = 100;

/**
 * The places that a path of RFC 9535 names, in order, at most `limit`; or the problem of a path that is none, or that takes too much
 * work. That is seconds at most, in which the thread does nothing else.
 *
 * @example queryJson({ a: [1, 2] }, '$.a[?@ > 1]', 10); // [{ path: "$['a'][1]", value: 2 }]
 */
export function queryJson(
  document: unknown,
  path: string,
  limit: number,
): { matches: PathMatch[]; isCut: boolean } | { problem: string } {
  if (path.length > LONGEST_PATH) return { problem: `the path has more than ${LONGEST_PATH} characters` };
  const counted = new CountedReads(ONE_READ + path.length);
  const matches: PathMatch[] = [];
  try {
    const query = environment(counted).compile(path);
    for (const node of query.lazyQuery(counted.wrap(document) as JSONValue)) {
      if (matches.length === limit) return { matches, isCut: true };
      matches.push({ path: node.getPath({ form: 'canonical' }), value: counted.unwrap(node.value) });
    }
    return { matches, isCut: false };
  } catch (error) {
    if (counted.problem !== undefined) return { problem: counted.problem };
    return { problem: `this is no JSONPath of RFC 9535: ${thrownMessage(error)}` };
  }
}

/** A document whose reads are counted, so that no query looks at it for ever. */
class CountedReads {
  /** Why it was refused to go on. */
  problem: string | undefined;
  #left = MOST_WORK;
  readonly #oneRead: number;
  readonly #wrapped = new WeakMap<object, object>();
  readonly #given = new WeakMap<object, object>();

  constructor(oneRead: number) {
    this.#oneRead = oneRead;
  }

  wrap(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.#wrapped.get(value);
    if (known !== undefined) return known;
    const wrapped = new Proxy(value, {
      get: (target, key) => {
        const value = Reflect.get(target, key);
        // It may be compared.
        this.spend(this.#oneRead + (typeof value === 'string' ? value.length / COMPARED_AT_ONCE : 0));
        return this.wrap(value);
      },
      ownKeys: (target) => {
        const keys = Reflect.ownKeys(target);
        this.spend(this.#oneRead * keys.length);
        return keys;
      },
    });
    this.#wrapped.set(value, wrapped);
    this.#given.set(wrapped, value);
    return wrapped;
  }

  unwrap(value: unknown): unknown {
    return typeof value === 'object' && value !== null ? (this.#given.get(value) ?? value) : value;
  }

  /** @throws RangeError for the work that is too much. */
  spend(work: number): void {
    this.#left -= work;
    if (this.#left < 0)
      this.refuse(
        `the path takes more than ${MOST_WORK} steps; name fewer places, or use simpler filters and patterns`,
      );
  }

  refuse(problem: string): never {
    this.problem = problem;
    throw new RangeError(problem);
  }
}

/** `match` wants the whole text to match, `search` a part of it. */
function environment(counted: CountedReads): JSONPathEnvironment {
  const patterns = new Map<string, LinearPattern | undefined>();
  const isMatching = (text: unknown, given: unknown, isWhole: boolean) => {
    if (typeof text !== 'string' || typeof given !== 'string') return false;
    const source = isWhole ? `^(?:${given})$` : given;
    if (!patterns.has(source)) {
      counted.spend(COMPILED * source.length);
      patterns.set(source, linearPattern(source, { mostSteps: MOST_SEARCHED }));
    }
    const pattern = patterns.get(source);
    if (pattern === undefined) return counted.refuse(NOT_SEARCHED);
    counted.spend(pattern.size * (1 + text.length));
    return pattern.test(text);
  };
  const made = new JSONPathEnvironment({ maxRecursionDepth: DEEPEST });
  for (const [name, isWhole] of [
    ['match', true],
    ['search', false],
  ] as const) {
    const known = made.functionRegister.get(name);
    if (known === undefined) throw new TypeError(`the JSONPath library has no function ${name}`);
    const { argTypes, returnType } = known;
    const call = (text: unknown, pattern: unknown) => isMatching(text, pattern, isWhole);
    made.functionRegister.set(name, { argTypes, returnType, call });
  }
  return made;
}

const MOST_PROPERTIES = 60;
const MOST_DEPTH = 6;
const MOST_ELEMENTS = 200;
const MOST_OUTLINED = 20_000;

/** The shape of a document as a JSON Schema, from some 200 elements of each array, six levels deep. */
export function outlineOf(document: unknown): Record<string, unknown> {
  const budget = { left: MOST_OUTLINED };
  return outline([document], 0, budget);
}

function outline(
  values: readonly unknown[],
  depth: number,
  budget: { left: number },
): Record<string, unknown> {
  const types = [...new Set(values.map(jsonType))];
  const schema: Record<string, unknown> = { type: types.length === 1 ? types[0] : types };
  budget.left -= values.length;
  if (budget.left < 0 || depth === MOST_DEPTH) return schema;
  const objects = values.filter(isObject);
  if (objects.length > 0) Object.assign(schema, outlineOfObjects(objects, depth, budget));
  const arrays = values.filter((value): value is unknown[] => Array.isArray(value));
  if (arrays.length > 0) {
    const lengths = arrays.map(({ length }) => length);
    schema.minItems = Math.min(...lengths);
    schema.maxItems = Math.max(...lengths);
    const elements = arrays.flatMap((array) => array.slice(0, MOST_ELEMENTS)).slice(0, MOST_ELEMENTS);
    if (elements.length > 0) schema.items = outline(elements, depth + 1, budget);
  }
  return schema;
}

function outlineOfObjects(
  objects: readonly Record<string, unknown>[],
  depth: number,
  budget: { left: number },
): Record<string, unknown> {
  const members = new Map<string, unknown[]>();
  let left = 0;
  for (const object of objects) {
    for (const [name, value] of Object.entries(object)) {
      const known = members.get(name);
      if (known !== undefined) known.push(value);
      else if (members.size < MOST_PROPERTIES) members.set(name, [value]);
      else left += 1;
    }
  }
  const required = [...members]
    .filter(([, values]) => values.length === objects.length)
    .map(([name]) => name);
  return {
    properties: Object.fromEntries(
      [...members].map(([name, values]) => [name, outline(values, depth + 1, budget)]),
    ),
    ...(required.length === 0 ? {} : { required }),
    ...(left === 0 ? {} : { $comment: `and ${left} more` }),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function jsonType(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return Array.isArray(value) ? 'array' : kindOf(value);
}
