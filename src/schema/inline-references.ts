import { isRecord } from '../protocol/json.ts';
import { SchemaError } from './compiled-schema.ts';
import { mapSubschemas } from './subschemas.ts';

type SchemaObject = Record<string, unknown>;

/** Above this, references stay references: a few that nest can grow to any size when each is written out. */
const MOST_INLINED = 2_000;

/** Characters of JSON that all references written out may come to. */
const LARGEST_INLINED = 1024 * 1024;

const ANNOTATIONS = new Set([
  'description',
  'title',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
]);
const LEFT_OUT = new Set(['$schema', '$id', '$anchor', '$comment', '$defs', 'definitions']);

/**
 * Writes out every reference of a schema, because models follow references badly; those of recursive schemas are kept
 * as `#/$defs/<name>`.
 *
 * @param largest characters of JSON that they may come to; where it is more, they stay.
 * @throws SchemaError for a reference that leads out of the schema or to nothing.
 */
export function inlineReferences(root: SchemaObject, largest = LARGEST_INLINED): SchemaObject {
  const inliner = new Inliner(root, new Set(), largest);
  try {
    return inliner.inlined();
  } catch (error) {
    if (!inliner.isTooMuch) throw error;
    return new Inliner(root, inliner.references(), largest).inlined();
  }
}

class Inliner {
  readonly #root: SchemaObject;
  readonly #kept: Set<string>;
  readonly #largest: number;
  readonly #names = new Map<string, string>();
  readonly #targets = new Map<string, SchemaObject>();
  readonly #sizes = new Map<string, number>();
  readonly #direct = new Map<string, ReadonlySet<string>>();
  #inlined = 0;
  #size = 0;

  constructor(root: SchemaObject, kept: Set<string>, largest: number) {
    this.#root = root;
    this.#kept = kept;
    this.#largest = largest;
  }

  get isTooMuch(): boolean {
    return this.#inlined > MOST_INLINED || this.#size > this.#largest;
  }

  inlined(): SchemaObject {
    for (const reference of this.references()) if (this.#isRecursive(reference)) this.#kept.add(reference);
    const whole = this.#written(this.#resolvedRoot());
    const definitions: [string, unknown][] = [];
    // Writing a definition may name further ones, which the loop then reaches.
    for (const [reference, name] of this.#names)
      definitions.push([name, this.#written(this.#target(reference))]);
    return definitions.length === 0 ? whole : { ...whole, $defs: Object.fromEntries(definitions) };
  }

  #resolvedRoot(): SchemaObject {
    let schema = this.#root;
    const seen = new Set<string>();
    for (let reference = schema.$ref; typeof reference === 'string'; reference = schema.$ref) {
      if (seen.has(reference)) throw new SchemaError(['$ref'], `"${reference}" refers to nothing but itself`);
      seen.add(reference);
      const { $ref: _, ...siblings } = schema;
      schema = merged(this.#target(reference), withoutKeys(siblings, LEFT_OUT));
    }
    return schema;
  }

  #written(schema: SchemaObject): SchemaObject {
    const { $ref: reference, ...rest } = withoutKeys(schema, LEFT_OUT);
    const own = mapSubschemas(rest, (subschema) =>
      isRecord(subschema) ? this.#written(subschema) : subschema,
    );
    if (typeof reference !== 'string') return reference === undefined ? own : { $ref: reference, ...own };
    if (this.#kept.has(reference)) return { $ref: `#/$defs/${this.#nameOf(reference)}`, ...own };
    this.#size += this.#sizeOf(reference);
    this.#inlined += 1;
    if (this.isTooMuch) throw new RangeError('too much to inline');
    return merged(this.#written(this.#target(reference)), own);
  }

  references(): Set<string> {
    return this.#allFrom(directReferences(this.#resolvedRoot()));
  }

  #isRecursive(reference: string): boolean {
    return this.#allFrom(this.#within(reference)).has(reference);
  }

  /** With those that these references lead to. */
  #allFrom(references: ReadonlySet<string>): Set<string> {
    const found = new Set(references);
    for (const reference of found) for (const inner of this.#within(reference)) found.add(inner);
    return found;
  }

  #within(reference: string): ReadonlySet<string> {
    const known = this.#direct.get(reference);
    if (known !== undefined) return known;
    const direct = directReferences(this.#target(reference));
    this.#direct.set(reference, direct);
    return direct;
  }

  #target(reference: string): SchemaObject {
    const known = this.#targets.get(reference);
    if (known !== undefined) return known;
    if (reference !== '#' && !reference.startsWith('#/')) {
      throw new SchemaError(
        ['$ref'],
        `"${reference}" leads out of the schema; put the definition into $defs`,
      );
    }
    let target: unknown = this.#root;
    for (const token of reference.split('/').slice(1)) {
      const name = unescaped(reference, token).replaceAll('~1', '/').replaceAll('~0', '~');
      target =
        typeof target === 'object' && target !== null && Object.hasOwn(target, name)
          ? (target as SchemaObject)[name]
          : undefined;
    }
    if (target === true) target = {};
    if (!isRecord(target)) throw new SchemaError(['$ref'], `"${reference}" leads to no schema`);
    this.#targets.set(reference, target);
    return target;
  }

  #sizeOf(reference: string): number {
    const known = this.#sizes.get(reference);
    if (known !== undefined) return known;
    const size = JSON.stringify(this.#target(reference)).length;
    this.#sizes.set(reference, size);
    return size;
  }

  #nameOf(reference: string): string {
    const known = this.#names.get(reference);
    if (known !== undefined) return known;
    const wanted = reference === '#' ? 'root' : (reference.split('/').at(-1) ?? '').replaceAll(/\W/g, '_');
    const taken = new Set(this.#names.values());
    let name = wanted;
    for (let count = 2; taken.has(name); count++) name = `${wanted}_${count}`;
    this.#names.set(reference, name);
    return name;
  }
}

function unescaped(reference: string, token: string): string {
  try {
    return decodeURIComponent(token);
  } catch (cause) {
    throw new SchemaError(['$ref'], `"${reference}" has a "%" that escapes nothing`, { cause });
  }
}

/** The references that stand in a schema itself. */
function directReferences(schema: SchemaObject): Set<string> {
  const found = new Set<string>();
  const visit = (subschema: unknown): unknown => {
    if (!isRecord(subschema)) return subschema;
    if (typeof subschema.$ref === 'string') found.add(subschema.$ref);
    mapSubschemas(withoutKeys(subschema, LEFT_OUT), visit);
    return subschema;
  };
  visit(schema);
  return found;
}

function merged(target: SchemaObject, siblings: SchemaObject): SchemaObject {
  const keywords = Object.keys(siblings);
  if (keywords.every((keyword) => ANNOTATIONS.has(keyword))) return { ...target, ...siblings };
  return { allOf: [target, siblings] };
}

function withoutKeys(schema: SchemaObject, keys: ReadonlySet<string>): SchemaObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.has(key)));
}
