import { isRecord } from '../../protocol/json.ts';
import { InvalidArgumentsError } from '../tool-error.ts';

/** How a parameter is written. */
export interface ParameterStyle {
  /** Name in the document. */
  originalName: string;
  style: string;
  explode: boolean;
  allowReserved: boolean;
  /** Media type of a parameter that is written as one. */
  contentType?: string;
}

type Encode = (text: string) => string;

const DELIMITERS: Readonly<Record<string, string>> = {
  form: ',',
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
  // Swagger 2 alone has it.
  tabDelimited: '%09',
};
const DEEPEST = 10;

/**
 * Writes a query parameter: `color=blue`, `color=blue,black`, `color[R]=100`.
 *
 * @returns pairs that are joined by `&`, encoded; none for a value that is not there.
 */
export function queryPairs(parameter: ParameterStyle, value: unknown): string[] {
  const { originalName, style, explode, allowReserved, contentType } = parameter;
  const encode: Encode = allowReserved ? encodeReserved : encodeURIComponent;
  const name = encodeURIComponent(originalName.toWellFormed());
  if (value === undefined || value === null) return [];
  if (contentType !== undefined) return [`${name}=${encode(jsonText(value))}`];
  if (style === 'deepObject' && typeof value === 'object') return deepPairs(name, value, encode, 0);
  const delimiter = DELIMITERS[style] ?? ',';
  if (Array.isArray(value)) {
    const items = value.filter(isThere).map((item) => encode(textOf(item)));
    if (items.length === 0) return [];
    return explode ? items.map((item) => `${name}=${item}`) : [`${name}=${items.join(delimiter)}`];
  }
  if (isRecord(value)) {
    const fields = fieldsOf(value, encode);
    if (fields.length === 0) return [];
    if (explode) return fields.map(([field, text]) => `${field}=${text}`);
    return [`${name}=${fields.flat().join(delimiter)}`];
  }
  return [`${name}=${encode(textOf(value))}`];
}

function deepPairs(name: string, value: unknown, encode: Encode, depth: number): string[] {
  if (!isThere(value)) return [];
  if (typeof value !== 'object' || depth >= DEEPEST) return [`${name}=${encode(textOf(value))}`];
  if (Array.isArray(value)) {
    // No standard has lists here. Servers that read brackets read these.
    return value.flatMap((item, index) =>
      deepPairs(`${name}[${typeof item === 'object' ? index : ''}]`, item, encode, depth + 1),
    );
  }
  return Object.entries(value as object).flatMap(([field, member]) =>
    deepPairs(`${name}[${encodeURIComponent(field.toWellFormed())}]`, member, encode, depth + 1),
  );
}

/** Writes a value into a path: `blue`, `.blue.black`, `;color=blue`. */
export function pathText(parameter: ParameterStyle, value: unknown): string {
  const { originalName, style, explode, contentType } = parameter;
  const name = encodeURIComponent(originalName.toWellFormed());
  const encode: Encode = encodeURIComponent;
  if (contentType !== undefined) return encode(jsonText(value));
  if (style === 'matrix') {
    if (Array.isArray(value)) {
      const items = value.filter(isThere).map((item) => encode(textOf(item)));
      return explode ? items.map((item) => `;${name}=${item}`).join('') : `;${name}=${items.join(',')}`;
    }
    if (isRecord(value)) {
      const fields = fieldsOf(value, encode);
      if (explode) return fields.map(([field, text]) => `;${field}=${text}`).join('');
      return `;${name}=${fields.flat().join(',')}`;
    }
    return `;${name}=${encode(textOf(value))}`;
  }
  const isLabel = style === 'label';
  return `${isLabel ? '.' : ''}${simpleText(value, explode, encode, isLabel && explode ? '.' : ',')}`;
}

/** Writes a header's value, as it is: `blue,black`, `R=100,G=200`. */
export function headerText({ originalName, explode, contentType }: ParameterStyle, value: unknown): string {
  const text = contentType === undefined ? simpleText(value, explode, (each) => each, ',') : jsonText(value);
  return asHeader(originalName, text);
}

/** Writes cookies: `color=blue`. */
export function cookiePairs(parameter: ParameterStyle, value: unknown): string[] {
  const { originalName, style, explode } = parameter;
  if (style !== 'cookie') return queryPairs({ ...parameter, allowReserved: false }, value);
  if (!isThere(value)) return [];
  const plain = (name: string, each: unknown) => `${name}=${asCookie(originalName, textOf(each))}`;
  if (!explode || typeof value !== 'object') {
    const text = typeof value === 'object' ? simpleText(value, false, (each) => each, ',') : value;
    return [plain(originalName, text)];
  }
  if (Array.isArray(value)) return value.filter(isThere).map((item) => plain(originalName, item));
  return Object.entries(value as object).map(([field, member]) =>
    plain(asCookie(originalName, field), member),
  );
}

function simpleText(value: unknown, explode: boolean, encode: Encode, delimiter: string): string {
  if (Array.isArray(value))
    return value
      .filter(isThere)
      .map((item) => encode(textOf(item)))
      .join(delimiter);
  if (!isRecord(value)) return encode(textOf(value));
  const fields = fieldsOf(value, encode);
  return explode
    ? fields.map(([field, text]) => `${field}=${text}`).join(delimiter)
    : fields.flat().join(delimiter);
}

function fieldsOf(value: Record<string, unknown>, encode: Encode): [string, string][] {
  return Object.entries(value)
    .filter(([, member]) => isThere(member))
    .map(([field, member]) => [encode(field.toWellFormed()), encode(textOf(member))]);
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A value within a text: no style says how objects within objects are written. */
function textOf(value: unknown): string {
  return (typeof value === 'object' ? jsonText(value) : String(value)).toWellFormed();
}

function jsonText(value: unknown): string {
  return (JSON.stringify(value) ?? '').toWellFormed();
}

/** Reserved characters stay, but those that would end the value, or the query. */
function encodeReserved(text: string): string {
  return encodeURIComponent(text).replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g, decodeURIComponent);
}

/** @throws InvalidArgumentsError for a value that would begin another header. */
export function asHeader(name: string, text: string): string {
  // The characters that Node sends as they are.
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return text;
  throw new InvalidArgumentsError(`${name}: a header's value has characters that no header can hold`);
}

function asCookie(name: string, text: string): string {
  if (/^[\x21\x23-\x2b\x2d-\x3a\x3c-\x7e]*$/.test(text)) return text;
  throw new InvalidArgumentsError(`${name}: a cookie's value has characters that no cookie can hold`);
}

/** Headers of the connection: they say where a request ends, and where it goes. */
const OF_THE_CONNECTION = new Set([
  ...['host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'te', 'trailer'],
  ...['expect', 'proxy-authorization', 'proxy-connection'],
]);

export function isOfTheConnection(name: string): boolean {
  return OF_THE_CONNECTION.has(name.toLowerCase());
}

/** Whether a document may name a header, or a cookie, like this. */
export function isFieldName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/.test(name) && !isOfTheConnection(name);
}
