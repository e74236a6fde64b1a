import { isRecord } from '../../protocol/json.ts';

type Schema = Record<string, unknown>;

const MOST_VALUES = 100;
/** Characters of a value that a schema names. */
const MOST_DEFAULT = 200;
const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
const COUNTS = ['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'];

/** Types of JSON Schema; some documents write them in upper case. */
export function typesOf({ type, properties }: Schema): string[] {
  if (type === 'file') return ['string'];
  const given = Array.isArray(type) ? type : [type];
  const known = given.filter((each) => typeof each === 'string').map((each) => each.toLowerCase());
  const types = [...new Set(known.filter((each) => TYPES.includes(each)))];
  return types.length === 0 && isRecord(properties) ? ['object'] : types;
}

/** Values of an `enum` that can be told; undefined where there are none, or too many. */
export function valuesOf({ enum: given }: Schema, isNullable: boolean): unknown[] | undefined {
  if (!Array.isArray(given) || given.length > MOST_VALUES) return undefined;
  // An empty text can't be told to Gemini.
  const values = given.filter((value) => value !== '' && isSmall(value));
  const unique = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  if (unique.length === 0) return undefined;
  return isNullable && !unique.includes(null) ? [...unique, null] : unique;
}

/** Each schema that names a definition asks again about its values. */
const small = new WeakMap<object, boolean>();

/** Whether a value is short enough to be told with a schema. */
export function isSmall(value: unknown): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'object' || value === null)
    return typeof value !== 'string' || value.length <= MOST_DEFAULT;
  const known = small.get(value);
  if (known !== undefined) return known;
  const isSo = leastLength(value) <= MOST_DEFAULT && (JSON.stringify(value)?.length ?? 0) <= MOST_DEFAULT;
  small.set(value, isSo);
  return isSo;
}

/** Characters that the JSON of a value has at least. Nothing is looked at beyond those that count. */
function leastLength(value: unknown): number {
  const rest = [value];
  let length = 0;
  while (rest.length > 0 && length <= MOST_DEFAULT) {
    const next = rest.pop();
    length += typeof next === 'string' ? next.length + 2 : 1;
    if (typeof next !== 'object' || next === null) continue;
    const members: unknown[] = Array.isArray(next) ? next : Object.entries(next).flat();
    length += members.length;
    if (length <= MOST_DEFAULT) rest.push(...members);
  }
  return length;
}

/** Copies bounds and counts that are right. */
export function addNumbers(schema: Schema, clean: Schema): void {
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    const { [bound]: limit, [exclusive]: without } = schema;
    // In 3.0 it says how the other one is meant.
    if (without === true && isNumber(limit)) clean[exclusive] = limit;
    else if (isNumber(limit)) clean[bound] = limit;
    if (isNumber(without)) clean[exclusive] = without;
  }
  if (isNumber(schema.multipleOf) && schema.multipleOf > 0) clean.multipleOf = schema.multipleOf;
  for (const name of COUNTS) {
    const count = schema[name];
    if (isNumber(count) && Number.isSafeInteger(count) && count >= 0) clean[name] = count;
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
