import { JSONPathEnvironment, type JSONValue } from 'json-p3';
import { kindOf } from '../schema/kind-of.ts';
import { linearPattern } from '../schema/linear-pattern.ts';
import { thrownMessage } from '../schema/thrown-message.ts';

/** A place in a document and its value. */
export interface PathMatch {
  /** Normalized path: `$['orders'][0]`. */
  path: string;
  value: unknown;
}

/** Characters. */
const LONGEST_PATH = 500;
/** Members and elements that a query may look at. */
const MOST_STEPS = 2_000_000;
const TOO_MANY = `the path looks at more than ${MOST_STEPS} places; ask for less at once`;

/**
 * The places that a path of RFC 9535 names, in order, at most `limit`; or the problem of a path that is none, or that looks at more than
 * 2,000,000 places. Patterns of `match` and `search` take linear time.
 *
 * @example queryJson({ a: [1, 2] }, '$.a[?@ > 1]', 10); // [{ path: "$['a'][1]", value: 2 }]
 */
export function queryJson(
  document: unknown,
  path: string,
  limit: number,
): { matches: PathMatch[]; isCut: boolean } | { problem: string } {
  if (path.length > LONGEST_PATH) return { problem: `the path has more than ${LONGEST_PATH} characters` };
  const counted = new CountedReads(MOST_STEPS);
  const matches: PathMatch[] = [];
  try {
    const query = ENVIRONMENT.compile(path);
    for (const node of query.lazyQuery(counted.wrap(document) as JSONValue)) {
      if (matches.length === limit) return { matches, isCut: true };
      matches.push({ path: node.getPath({ form: 'canonical' }), value: counted.unwrap(node.value) });
    }
    return { matches, isCut: false };
  } catch (error) {
    if (counted.isOver) return { problem: TOO_MANY };
    return { problem: `this is no JSONPath of RFC 9535: ${thrownMessage(error)}` };
  }
}

/** A document whose reads are counted, so that no query looks at it for ever. */
class CountedReads {
  #left: number;
  readonly #wrapped = new WeakMap<object, object>();
  readonly #given = new WeakMap<object, object>();

  constructor(most: number) {
    this.#left = most;
  }

  get isOver(): boolean {
    return this.#left < 0;
  }

  wrap(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.#wrapped.get(value);
    if (known !== undefined) return known;
    const wrapped = new Proxy(value, {
      get: (target, key) => {
        this.#count(1);
        return this.wrap(Reflect.get(target, key));
      },
      ownKeys: (target) => {
        const keys = Reflect.ownKeys(target);
        this.#count(keys.length);
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

  #count(reads: number): void {
    this.#left -= reads;
    if (this.#left < 0) throw new RangeError(TOO_MANY);
  }
}

const PATTERNS = new Map<string, ReturnType<typeof linearPattern>>();

/** `match` wants the whole text to match, `search` a part of it. */
function isMatching(text: unknown, pattern: unknown, isWhole: boolean): boolean {
  if (typeof text !== 'string' || typeof pattern !== 'string') return false;
  const source = isWhole ? `^(?:${pattern})$` : pattern;
  if (!PATTERNS.has(source)) {
    if (PATTERNS.size > 100) PATTERNS.clear();
    PATTERNS.set(source, linearPattern(source));
  }
  return PATTERNS.get(source)?.test(text) ?? false;
}

const ENVIRONMENT = new JSONPathEnvironment({ maxRecursionDepth: 500 });
for (const [name, isWhole] of [
  ['match', true],
  ['search', false],
] as const) {
  const known = ENVIRONMENT.functionRegister.get(name);
  if (known === undefined) throw new TypeError(`the JSONPath library has no function ${name}`);
  const { argTypes, returnType } = known;
  const call = (text: unknown, pattern: unknown) => isMatching(text, pattern, isWhole);
  ENVIRONMENT.functionRegister.set(name, { argTypes, returnType, call });
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
