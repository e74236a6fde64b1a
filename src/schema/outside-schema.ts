import { isTooDeep, tooDeepText } from '../contract/message-limits.ts';
import { isRecord } from '../protocol/json.ts';
import { PAYLOAD_LIMIT } from '../protocol/sizes.ts';
import { visibleLines } from '../protocol/visible-text.ts';
import { type JsonSchemaObject, SchemaError } from './compiled-schema.ts';
import { type LinearPattern, linearPattern, translatedPattern } from './linear-pattern.ts';
import { mapSubschemas } from './subschemas.ts';

/** Bounds of a schema that a model, a server or a person may have written. */
const MOST_BYTES = PAYLOAD_LIMIT;
const MOST_SUBSCHEMAS = 500;
const MOST_REFERENCES = 100;
/** Characters of a title or description. */
const LONGEST_TEXT = 4_000;
/** Size of all its patterns. To compile them takes about 60 ms at most. */
export const MOST_STEPS = 10_000;

/** Says in each subschema what to check a value by it costs. */
export const WORK_KEYWORD = 'holdfast:work';

/** For every subschema. */
const ONE_SUBSCHEMA = 50;

/** For a step of a pattern: up to 65 ns for a character. */
const ONE_STEP = 6;

/** The cost of a subschema, without those that it contains. */
export interface Work {
  /** Texts and numbers that a value is compared with, and characters of objects. */
  compared: number;
  /** Names of properties, which each name of an object is compared with. */
  names: number;
  /** Steps for each character of a text, and of an object's names. */
  steps: number;
}

/** The keywords that check a value. All others count as annotations, also `$dynamicRef` and extensions of a validator. */
const CHECKED = new Set([
  ...['$ref', '$defs', 'type', 'nullable', 'enum', 'const', 'format', 'pattern'],
  ...['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum', 'maxLength', 'minLength'],
  ...['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'minItems', 'maxItems', 'uniqueItems'],
  ...['contains', 'minContains', 'maxContains', 'properties', 'patternProperties', 'additionalProperties'],
  ...['unevaluatedProperties', 'propertyNames', 'required', 'minProperties', 'maxProperties'],
  ...['dependentRequired', 'dependentSchemas', 'dependencies'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'],
]);

/** A looser part under these keywords makes the whole stricter. */
const TURNED_ROUND = new Set([
  ...['not', 'if', 'then', 'else', 'maxContains', 'unevaluatedItems', 'unevaluatedProperties'],
]);

/** @throws SchemaError for a schema that is too large to be looked at. */
export function assertBounded(given: object): void {
  // Before anything else walks it.
  if (isTooDeep(given)) throw new SchemaError([], tooDeepText());
  const text = JSON.stringify(given) ?? '';
  const bytes = Buffer.byteLength(text);
  if (bytes > MOST_BYTES) {
    throw new SchemaError([], `${bytes} bytes of JSON, and at most ${MOST_BYTES} are taken`);
  }
  const references = text.split('"$ref":').length - 1;
  if (references > MOST_REFERENCES) {
    throw new SchemaError([], `${references} times "$ref", and at most ${MOST_REFERENCES} are taken`);
  }
}

/**
 * The schema as a model may be told it: its titles and descriptions not without end, and with unseen characters as escapes. Any other
 * part with such characters is left out, names of properties and values of an `enum` too: the server wouldn't know them as escapes.
 */
export function shownSchema(schema: JsonSchemaObject): JsonSchemaObject {
  const entries = Object.entries(schema).flatMap(([name, value]) => {
    const isTold = (name === 'title' || name === 'description') && typeof value === 'string';
    const shown = isTold ? visibleLines(value.slice(0, LONGEST_TEXT).toWellFormed()) : seen(value);
    return shown === undefined || seen(name) === undefined ? [] : [[name, shown] as const];
  });
  return Object.fromEntries(entries);
}

function seen(value: unknown): unknown {
  if (typeof value === 'string') return visibleLines(value) === value ? value : undefined;
  if (isRecord(value)) return shownSchema(value);
  if (!Array.isArray(value)) return value;
  const kept = value.map(seen).filter((each) => each !== undefined);
  // Providers refuse an empty enum.
  return kept.length === 0 && value.length > 0 ? undefined : kept;
}

/**
 * The part of a schema that checks a value, with the cost of each subschema. Annotations are left out, and so are patterns that
 * need an engine that backtracks. Patterns are compiled after all is counted.
 *
 * @param schema with its references written out.
 * @throws SchemaError for one with too many parts or patterns.
 */
export function checkable(schema: object) {
  const sources = new Set<string>();
  let subschemas = 0;
  let steps = 0;
  const find = (subschema: unknown): unknown => {
    subschemas += 1;
    if (subschemas > MOST_SUBSCHEMAS)
      throw new SchemaError([], `too many subschemas, and at most ${MOST_SUBSCHEMAS} are taken`);
    if (!isRecord(subschema)) return subschema;
    for (const source of patternsOf(subschema)) {
      if (sources.has(source)) continue;
      sources.add(source);
      steps += translatedPattern(source).size;
      if (steps > MOST_STEPS)
        throw new SchemaError([], 'its patterns are too long: use fewer or shorter ones');
    }
    mapSubschemas(subschema, find);
    return subschema;
  };
  find(schema);
  const patterns = new Map([...sources].map((source) => [source, linearPattern(source)]));
  const isExact = [...patterns.values()].every((pattern) => pattern !== undefined);
  const write = (subschema: unknown): unknown =>
    isRecord(subschema)
      ? mapSubschemas(weighed(isExact ? checked(subschema) : loosened(subschema, patterns), patterns), write)
      : subschema;
  return { bounded: write(schema) as object, patterns };
}

/** The cost of a check of a value by one subschema. */
export function workFor({ compared, names, steps }: Work, value: unknown): number {
  const own = ONE_SUBSCHEMA + compared;
  if (typeof value === 'string') return own + value.length * (1 + ONE_STEP * steps);
  if (typeof value !== 'object' || value === null) return own;
  if (Array.isArray(value)) return own + value.length;
  const keys = Object.keys(value);
  const length = keys.reduce((sum, key) => sum + key.length, 0);
  return own + keys.length * (1 + names) + length * ONE_STEP * steps;
}

function patternsOf({ pattern, patternProperties }: Record<string, unknown>): string[] {
  return [
    ...(typeof pattern === 'string' ? [pattern] : []),
    ...(isRecord(patternProperties) ? Object.keys(patternProperties) : []),
  ];
}

function checked(subschema: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(subschema).filter(([keyword]) => CHECKED.has(keyword)));
}

/** Lets values pass that only a pattern that isn't run could refuse. */
function loosened(
  subschema: Record<string, unknown>,
  patterns: ReadonlyMap<string, LinearPattern | undefined>,
): Record<string, unknown> {
  const { pattern, patternProperties, oneOf, anyOf, allOf, ...rest } = checked(subschema);
  const loose = Object.fromEntries(Object.entries(rest).filter(([keyword]) => !TURNED_ROUND.has(keyword)));
  if (isRecord(patternProperties)) {
    const entries = Object.entries(patternProperties);
    const kept = entries.filter(([source]) => patterns.get(source) !== undefined);
    loose.patternProperties = Object.fromEntries(kept);
    // A name that fits one of the others is no additional one.
    if (kept.length < entries.length) delete loose.additionalProperties;
  }
  if (typeof pattern === 'string' && patterns.get(pattern) !== undefined) loose.pattern = pattern;
  if (anyOf !== undefined) loose.anyOf = anyOf;
  const all = [...(Array.isArray(allOf) ? allOf : []), ...(Array.isArray(oneOf) ? [{ anyOf: oneOf }] : [])];
  return all.length === 0 ? loose : { ...loose, allOf: all };
}

function weighed(
  subschema: Record<string, unknown>,
  patterns: ReadonlyMap<string, LinearPattern | undefined>,
): Record<string, unknown> {
  const { enum: values, const: value, required, dependentRequired, properties } = subschema;
  const scalars = [values, required].flatMap((each) => (Array.isArray(each) ? each : []));
  const objects = scalars.filter((each) => typeof each === 'object');
  const work: Work = {
    compared: scalars.length + (JSON.stringify([objects, value, dependentRequired]) ?? '').length,
    names: isRecord(properties) ? Object.keys(properties).length : 0,
    steps: patternsOf(subschema).reduce((sum, source) => sum + (patterns.get(source)?.size ?? 0), 0),
  };
  return { ...subschema, [WORK_KEYWORD]: work };
}
