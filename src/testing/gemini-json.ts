export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The protobuf JSON mapping reads null as unset. */
export function isUnset(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** JSON whose object keys are sorted, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
}

const OPAQUE = new Set([
  'args',
  'parametersJsonSchema',
  'responseJsonSchema',
  'partMetadata',
  'labels',
  'default',
  'example',
]);

/**
 * The API takes field names in lowerCamelCase and in snake_case; this gives all of them the former, and leaves the
 * names inside of free-form values alone.
 */
export function camelFields(value: unknown, parent = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => camelFields(item, parent));
  if (!isObject(value)) return value;
  const isMap = parent === 'properties';
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const name = isMap ? key : key.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, next) => next.toUpperCase());
      if (isMap) return [name, camelFields(item)];
      const free = OPAQUE.has(name) || (parent === 'functionResponse' && name === 'response');
      return [name, free ? item : camelFields(item, name)];
    }),
  );
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
