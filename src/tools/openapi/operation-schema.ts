import { isRecord } from '../../protocol/json.ts';
import { translatedPattern } from '../../schema/linear-pattern.ts';
import { MOST_STEPS } from '../../schema/outside-schema.ts';
import { DocumentProblem, leadsNowhere } from './openapi-document.ts';
import { addNumbers, isSmall, typesOf, valuesOf } from './schema-keywords.ts';

type Schema = Record<string, unknown>;

/** The side of a call: properties of the other side are left out. */
export type SchemaSide = 'request' | 'response';

/** Gives the definition that a reference leads to. @throws DocumentProblem */
export type Definitions = (reference: string) => unknown;

/** How much of a schema is told. */
interface Detail {
  /** Schemas within schemas. */
  depth: number;
  /** Characters of a description. */
  description: number;
}

/** From all of it to its outline: the first one that is small enough is told. */
const DETAILS: readonly Detail[] = [
  { depth: 16, description: 600 },
  { depth: 12, description: 160 },
  ...[8, 6, 5, 4, 3, 2, 1].map((depth) => ({ depth, description: 160 })),
  { depth: 1, description: 40 },
  { depth: 0, description: 40 },
];

/** Subschemas and bytes of one operation's arguments. A request of a model has those of all its tools. */
const MOST_SCHEMAS = 300;
const MOST_BYTES = 16 * 1024;
const MOST_REFERENCES = 50;
/** Parts of `allOf` that are looked at, of one operation. */
const MOST_PARTS = 5_000;
/** References that lead to each other. */
const MOST_LINKS = 20;
/** Properties of one object, with those of the other side of a call. */
const MOST_PROPERTIES = 3_000;
/** Keywords of one schema: those beside a reference are put together with its own. */
const MOST_KEYWORDS = 100;
/** With less depth than this, cyclic references are left open. */
const CYCLES_FROM = 12;

const OBJECT_KEYWORDS = new Set([
  'type',
  'properties',
  'required',
  'description',
  'title',
  'example',
  'examples',
  'xml',
  'externalDocs',
  'additionalProperties',
  'nullable',
  'deprecated',
]);

/**
 * The marker of bytes: in a file field of a form, and in a body that is no text. A tool's arguments have {@link FILE_SCHEMA} there.
 */
export function isBytes(schema: Schema): boolean {
  if (schema.type === 'file') return true;
  const isText = schema.type === undefined || schema.type === 'string' || isNullableString(schema.type);
  if (!isText) return false;
  if (schema.format === 'binary') return true;
  const { contentMediaType: type, contentEncoding } = schema;
  return typeof type === 'string' && contentEncoding === undefined && type === 'application/octet-stream';
}

function isNullableString(type: unknown): boolean {
  return Array.isArray(type) && type.every((each) => each === 'string' || each === 'null');
}

/** The argument by which a model names bytes, which it can't write. */
export const FILE_SCHEMA: Schema = Object.freeze({
  type: 'object',
  description: 'The bytes to send: the name of an artifact, or a text, or base64.',
  properties: {
    artifact: { type: 'string', description: 'Name of an artifact of the session, whose bytes are sent.' },
    text: { type: 'string' },
    base64: { type: 'string' },
    filename: { type: 'string' },
    mime_type: { type: 'string' },
  },
  additionalProperties: false,
});

/**
 * A JSON Schema of its own for schemas of OpenAPI 3.0 to 3.2: references are written out, or `$defs` where they are cyclic; keywords
 * that are wrong or only annotate are left out; where it is too large, its inner parts are left open. So it refuses no value that the
 * document allows, but the empty text in an `enum`, and may allow more.
 *
 * @param build makes the whole of schemas that it reads by `read`.
 * @throws DocumentProblem for a reference that leads nowhere.
 */
export function boundedSchema(
  definitions: Definitions,
  side: SchemaSide,
  build: (read: (schema: unknown) => Schema) => Schema,
  mostBytes = MOST_BYTES,
): Schema {
  const patterns = new Patterns();
  for (const detail of DETAILS) {
    try {
      const reader = new SchemaReader(definitions, side, detail, patterns);
      const whole = build((schema) => reader.read(schema));
      const defs = reader.definitions();
      const schema = defs === undefined ? whole : { ...whole, $defs: defs };
      if (Buffer.byteLength(JSON.stringify(schema)) <= mostBytes) return schema;
    } catch (error) {
      // Or the stack has no room for more.
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new DocumentProblem(
    `its arguments are too many to be told: their names alone have more than ${mostBytes} bytes`,
  );
}

/** A schema whose references at its root are resolved, and whose parts of `allOf` are one where they can be. */
export function flattened(definitions: Definitions, given: unknown): Schema {
  const reader = new SchemaReader(definitions, 'request', { depth: 0, description: 0 }, new Patterns());
  return reader.flat(given, []);
}

/** Patterns of one operation, at all details. Those after {@link MOST_STEPS} are left out: engines take long to read them. */
class Patterns {
  readonly #known = new Map<string, boolean>();
  #left = MOST_STEPS;

  isTold(source: string): boolean {
    const known = this.#known.get(source);
    if (known !== undefined) return known;
    const { size, text } = translatedPattern(this.#left < 0 ? '' : source);
    this.#left -= size;
    const isTold = text !== undefined && this.#left >= 0;
    this.#known.set(source, isTold);
    return isTold;
  }
}

class SchemaReader {
  readonly #target: Definitions;
  readonly #side: SchemaSide;
  readonly #detail: Detail;
  readonly #patterns: Patterns;
  /** Names of cyclic definitions, by reference. */
  readonly #names = new Map<string, string>();
  #schemas = 0;
  #references = 0;
  #parts = 0;

  constructor(definitions: Definitions, side: SchemaSide, detail: Detail, patterns: Patterns) {
    this.#target = definitions;
    this.#side = side;
    this.#detail = detail;
    this.#patterns = patterns;
  }

  read(schema: unknown): Schema {
    return this.#read(schema, [], this.#detail.depth);
  }

  /** Those that cyclic references name, and that these name in turn. */
  definitions(): Schema | undefined {
    const written: [string, Schema][] = [];
    for (const [reference, name] of this.#names) {
      written.push([name, this.#read(this.#target(reference), [reference], this.#detail.depth)]);
    }
    return written.length === 0 ? undefined : Object.fromEntries(written);
  }

  flat(given: unknown, within: readonly string[]): Schema {
    this.#parts += 1;
    if (this.#parts > MOST_PARTS)
      throw new DocumentProblem(`its schemas have more than ${MOST_PARTS} parts of allOf`);
    const { schema, path } = this.#resolved(given, within);
    return this.#merged(schema, path);
  }

  /** @param within references that lead here. */
  #read(given: unknown, within: readonly string[], depth: number): Schema {
    this.#schemas += 1;
    if (this.#schemas > MOST_SCHEMAS) throw new RangeError('too much to tell');
    if (isRecord(given) && typeof given.$ref === 'string' && within.includes(given.$ref)) {
      return this.#detail.depth < CYCLES_FROM ? {} : this.#cyclic(given.$ref);
    }
    const { schema: own, path } = this.#resolved(given, within);
    const schema = this.#merged(own, path);
    return this.#cleaned(schema, path, depth);
  }

  #cyclic(reference: string): Schema {
    this.#references += 1;
    if (this.#references > MOST_REFERENCES) throw new RangeError('too much to tell');
    let name = this.#names.get(reference);
    if (name === undefined) {
      const last = reference.split('/').at(-1)?.replaceAll(/\W/g, '_').slice(0, 60) ?? '';
      name = last === '' || last === '__proto__' ? 'schema' : last;
      const taken = new Set(this.#names.values());
      for (let count = 2; taken.has(name); count += 1) name = `${last}_${count}`;
      this.#names.set(reference, name);
    }
    return { $ref: `#/$defs/${name}` };
  }

  /** Follows references, with the keywords beside them. */
  #resolved(given: unknown, within: readonly string[]): { schema: Schema; path: readonly string[] } {
    let path = within;
    let schema = this.#asSchema(given);
    for (let links = 0; typeof schema.$ref === 'string'; links += 1) {
      const { $ref, ...beside } = schema;
      if (links > MOST_LINKS || path.includes($ref)) return { schema: {}, path };
      path = [...path, $ref];
      schema = { ...this.#asSchema(this.#target($ref)), ...beside };
    }
    return { schema, path };
  }

  #asSchema(given: unknown): Schema {
    if (isRecord(given)) {
      const count = Object.keys(given).length;
      if (count <= MOST_KEYWORDS) return given;
      throw new DocumentProblem(`a schema has ${count} keywords, and at most ${MOST_KEYWORDS} are read`);
    }
    if (given === undefined || given === null || typeof given === 'boolean') return {};
    throw new DocumentProblem('a schema: expected an object');
  }

  /** Writes `allOf` of plain objects as one object, which models read better. */
  #merged(schema: Schema, within: readonly string[]): Schema {
    if (!Array.isArray(schema.allOf) || schema.allOf.length === 0 || schema.allOf.length > 50) return schema;
    const { allOf, ...rest } = schema;
    const parts = [...(allOf as unknown[]), rest].map((part) => {
      const isCycle = isRecord(part) && typeof part.$ref === 'string' && within.includes(part.$ref);
      return isCycle ? undefined : this.flat(part, within);
    });
    if (
      allOf.length === 1 &&
      Object.keys(rest).every((key) =>
        ['description', 'title', 'nullable', 'readOnly', 'writeOnly', 'default', 'deprecated'].includes(key),
      )
    ) {
      return parts[0] === undefined ? schema : { ...parts[0], ...rest };
    }
    const properties = new Map<string, unknown>();
    const required = new Set<unknown>();
    for (const part of parts) {
      if (
        part === undefined ||
        !Object.keys(part).every((key) => OBJECT_KEYWORDS.has(key) || key.startsWith('x-'))
      )
        return schema;
      if (part.type !== undefined && part.type !== 'object') return schema;
      for (const [name, property] of Object.entries(isRecord(part.properties) ? part.properties : {})) {
        if (!properties.has(name)) properties.set(name, property);
      }
      for (const name of Array.isArray(part.required) ? part.required : []) required.add(name);
    }
    const description =
      schema.description ?? parts.find((part) => part?.description !== undefined)?.description;
    return {
      type: 'object',
      ...(description === undefined ? {} : { description }),
      properties: Object.fromEntries(properties),
      ...(required.size === 0 ? {} : { required: [...required] }),
    };
  }

  #cleaned(schema: Schema, path: readonly string[], depth: number): Schema {
    const clean: Schema = {};
    const types = typesOf(schema);
    const isNullable = schema.nullable === true || schema['x-nullable'] === true;
    if (types.length > 0 && isNullable && !types.includes('null')) types.push('null');
    if (types.length > 0) clean.type = types.length === 1 ? types[0] : types;
    const description = this.#text(schema.description) ?? this.#text(schema.title);
    if (description !== undefined) clean.description = description;
    if (typeof schema.format === 'string' && schema.format.length <= 40) clean.format = schema.format;
    const values = valuesOf(schema, isNullable);
    if (values !== undefined) clean.enum = values;
    else if (isSmall(schema.const)) clean.const = schema.const;
    if (isSmall(schema.default)) clean.default = schema.default;
    addNumbers(schema, clean);
    if (typeof schema.pattern === 'string' && this.#patterns.isTold(schema.pattern))
      clean.pattern = schema.pattern;
    const isArray = types.includes('array') || (types.length === 0 && schema.items !== undefined);
    if (depth <= 0) {
      if (isArray) clean.items = {};
      return clean;
    }
    const inner = (subschema: unknown) => this.#read(subschema, path, depth - 1);
    if (isArray) clean.items = Array.isArray(schema.items) ? {} : inner(schema.items);
    if (schema.uniqueItems === true) clean.uniqueItems = true;
    this.#addProperties(schema, clean, path, inner);
    this.#addChoices(schema, clean, { inner, isNullable, hasType: types.length > 0 });
    return clean;
  }

  #addProperties(
    schema: Schema,
    clean: Schema,
    path: readonly string[],
    inner: (subschema: unknown) => Schema,
  ): void {
    const { properties, additionalProperties, required } = schema;
    if (isRecord(properties)) {
      if (Object.keys(properties).length > MOST_PROPERTIES) throw new RangeError('too much to tell');
      const told = Object.entries(properties).filter(([, member]) => !this.#isOfOtherSide(member, path));
      clean.properties = Object.fromEntries(told.map(([name, member]) => [name, inner(member)]));
      const names = new Set(told.map(([name]) => name));
      const wanted = Array.isArray(required) ? required.filter((name) => names.has(name)) : [];
      if (wanted.length > 0) clean.required = [...new Set(wanted)];
    }
    if (additionalProperties === false && !this.#hasHidden(schema, path)) clean.additionalProperties = false;
    else if (isRecord(additionalProperties) && Object.keys(additionalProperties).length > 0) {
      clean.additionalProperties = inner(additionalProperties);
    }
  }

  #addChoices(
    { oneOf, anyOf, allOf }: Schema,
    clean: Schema,
    {
      inner,
      isNullable,
      hasType,
    }: { inner: (schema: unknown) => Schema; isNullable: boolean; hasType: boolean },
  ): void {
    // With parts left open, a value may match several of `oneOf`.
    for (const choices of [anyOf, oneOf]) {
      if (!Array.isArray(choices) || choices.length === 0) continue;
      const told = choices.map(inner);
      if (isNullable && !hasType) told.push({ type: 'null' });
      if (clean.anyOf === undefined) clean.anyOf = told;
      else clean.allOf = [{ anyOf: told }];
    }
    if (Array.isArray(allOf) && allOf.length > 0 && !(isNullable && !hasType)) {
      clean.allOf = [...(Array.isArray(clean.allOf) ? clean.allOf : []), ...allOf.map(inner)];
    }
  }

  /** Looks at one keyword only: an object may have thousands of properties of the other side. */
  #isOfOtherSide(member: unknown, path: readonly string[]): boolean {
    const keyword = this.#side === 'request' ? 'readOnly' : 'writeOnly';
    const seen = [...path];
    let schema = member;
    while (isRecord(schema) && !Object.hasOwn(schema, keyword)) {
      const { $ref } = schema;
      if (typeof $ref !== 'string' || seen.length > path.length + MOST_LINKS || seen.includes($ref))
        return false;
      seen.push($ref);
      schema = this.#target($ref);
    }
    return isRecord(schema) && schema[keyword] === true;
  }

  #hasHidden({ properties }: Schema, path: readonly string[]): boolean {
    return (
      isRecord(properties) && Object.values(properties).some((member) => this.#isOfOtherSide(member, path))
    );
  }

  #text(value: unknown): string | undefined {
    if (typeof value !== 'string' || value.trim() === '') return undefined;
    const { description: most } = this.#detail;
    const text = value.trim();
    return text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 0)).toWellFormed()}…`;
  }
}

/** The definitions of a document's schemas, as JSON texts by reference. */
export function definitionsOf(texts: ReadonlyMap<string, string>): Definitions {
  const parsed = new Map<string, unknown>();
  return (reference) => {
    if (parsed.has(reference)) return parsed.get(reference);
    const text = texts.get(reference);
    if (text === undefined) throw leadsNowhere(reference);
    const value: unknown = JSON.parse(text);
    parsed.set(reference, value);
    return value;
  };
}
