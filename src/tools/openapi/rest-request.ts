import { isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import type { Context } from '../context.ts';
import { InvalidArgumentsError } from '../tool-error.ts';
import type { AppliedSecurity } from './api-security.ts';
import { DocumentProblem, quoted } from './openapi-document.ts';
import { isFileProperty, type OperationParser, type SentParameter } from './operation-parser.ts';
import type { Definitions } from './operation-schema.ts';
import { fileOf, formBody, multipartBody, type WrittenBody } from './request-body.ts';
import { asHeader, cookiePairs, headerText, pathText, queryPairs } from './serialize-parameters.ts';

/** Base address, path template and method of an operation. Fields: `OperationEndpoint` of `@google/adk` 2.0.0. */
export interface OperationEndpoint {
  baseUrl: string;
  path: string;
  method: string;
}

export interface RestRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
}

export interface RequestParts {
  endpoint: OperationEndpoint;
  parser: OperationParser;
  definitions: Definitions;
  args: Readonly<Record<string, unknown>>;
  security: AppliedSecurity;
  context: Context;
}

const LONGEST_URL = 16 * 1024;
/** Places of a path that arguments fill. */
const PLACES = /\{([^{}]+)\}/g;

/** A place that no argument fills would fail each call. @throws DefinitionError naming it. */
export function assertPlaces(owner: string, { path }: OperationEndpoint, { sent }: OperationParser): void {
  const names = new Set(
    sent.flatMap(({ paramLocation, originalName }) => (paramLocation === 'path' ? [originalName] : [])),
  );
  for (const [, name = ''] of path.matchAll(PLACES)) {
    if (names.has(name)) continue;
    const problem = `no parameter with in: path is named ${quoted(name)}, so nothing fills {${name.slice(0, 60)}}`;
    const cause = new DocumentProblem(problem);
    throw new DefinitionError({ owner, field: 'endpoint.path', problem }, { cause });
  }
}

/** Facts of an operation of which its requests are made, but for arguments and credentials. They are plain, and can be digested. */
export function requestForm(endpoint: OperationEndpoint, { sent, ofBody, body }: OperationParser): object {
  const { encoding = {}, ...rest } = body ?? {};
  return {
    endpoint,
    sent: sent.map(({ paramSchema: _, description: __, ...each }) => each),
    ofBody: ofBody.map(({ name, originalName, required }) => [name, originalName, required]),
    body: rest,
    encoding: Object.entries(encoding).map(([name, given]) => {
      const { style, explode, allowReserved, contentType } = isRecord(given) ? given : {};
      return [name, ...[style, explode, allowReserved, contentType].map((each) => String(each))];
    }),
  };
}

/** The request of a call. @throws InvalidArgumentsError naming the argument that no request can carry. */
export async function restRequest(parts: RequestParts): Promise<RestRequest> {
  const { endpoint, parser, args, security } = parts;
  const argumentOf = ({ name }: SentParameter): unknown =>
    Object.hasOwn(args, name) ? args[name] : undefined;
  const at = (place: string) => parser.sent.filter(({ paramLocation }) => paramLocation === place);
  const query = at('query').flatMap((parameter) => queryPairs(parameter, argumentOf(parameter)));
  query.push(...at('querystring').flatMap((parameter) => wholeQuery(parameter, argumentOf(parameter))));
  const headers: Record<string, string> = {
    accept: 'application/json, */*;q=0.8',
    'accept-encoding': 'identity',
  };
  for (const parameter of at('header')) {
    const value = argumentOf(parameter);
    if (value !== undefined && value !== null)
      headers[parameter.originalName.toLowerCase()] = headerText(parameter, value);
  }
  const cookies = at('cookie').flatMap((parameter) => cookiePairs(parameter, argumentOf(parameter)));
  const allCookies = [...without(security.cookies, cookies), ...security.cookies];
  if (allCookies.length > 0) headers.cookie = asHeader('cookie', allCookies.join('; '));
  const written = await bodyOf(parts);
  if (written !== undefined) headers['content-type'] = written.contentType;
  const path = pathOf(endpoint.path, at('path'), argumentOf);
  return {
    url: addressOf(endpoint.baseUrl, path, [
      ...without(security.query, query.join('&').split('&')),
      ...security.query,
    ]),
    method: endpoint.method.toUpperCase(),
    headers: { ...headers, ...security.headers },
    ...(written === undefined ? {} : { body: written.body }),
  };
}

/** Pairs of arguments whose names are none of a credential's: an object names its pairs itself, and servers read the first one. */
function without(security: readonly string[], pairs: readonly string[]): string[] {
  if (security.length === 0) return [...pairs];
  const taken = new Set(security.map(nameOf));
  return pairs.filter((pair) => !taken.has(nameOf(pair)));
}

function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1);
  try {
    return decodeURIComponent(name.replaceAll('+', ' ')).trim().toLowerCase();
  } catch {
    // A cookie's value may have a percent sign that escapes nothing.
    return name.trim().toLowerCase();
  }
}

function pathOf(
  template: string,
  parameters: readonly SentParameter[],
  argumentOf: (parameter: SentParameter) => unknown,
): string {
  const path = template.replaceAll(PLACES, (_, name: string) => {
    const parameter = parameters.find(({ originalName }) => originalName === name);
    const value = parameter === undefined ? undefined : argumentOf(parameter);
    if (parameter === undefined || value === undefined || value === null || value === '')
      throw new InvalidArgumentsError(`${parameter?.name ?? name}: required: it is a part of the path`);
    const text = pathText(parameter, value);
    if (text === '')
      throw new InvalidArgumentsError(`${parameter.name}: it is a part of the path, and must not be empty`);
    // Many servers decode a path before they follow its steps.
    if (hasSteps(text))
      throw new InvalidArgumentsError(`${parameter.name}: no part between slashes may be '.' or '..'`);
    return text;
  });
  // Clients and servers read these as steps upwards.
  if (path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) {
    throw new InvalidArgumentsError("a path argument must not be '.' or '..'");
  }
  return path;
}

/** Servers that know parameters of segments read `..;` as `..`. */
function hasSteps(text: string): boolean {
  return text.split(/[/\\]|%2f|%5c/i).some((part) => /^(?:\.|%2e){1,2}(?:;|%3b|$)/i.test(part));
}

function addressOf(baseUrl: string, path: string, query: readonly string[]): string {
  const [base = '', baseQuery] = baseUrl.split('#', 1)[0]?.split('?', 2) ?? [];
  const [bare = '', pathQuery] = path.split('#', 1)[0]?.split('?', 2) ?? [];
  const pairs = [baseQuery, pathQuery, ...query].filter((pair) => pair !== undefined && pair !== '');
  const url = `${base.endsWith('/') ? base.slice(0, -1) : base}${bare}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
  if (url.length > LONGEST_URL)
    throw new InvalidArgumentsError(`its address would have more than ${LONGEST_URL} characters`);
  // An argument can't choose another server.
  if (URL.parse(url)?.origin !== URL.parse(base)?.origin)
    throw new InvalidArgumentsError('its address leads to another server');
  return url;
}

/** OpenAPI 3.2: one parameter that is all of the query. */
function wholeQuery(parameter: SentParameter, value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (parameter.contentType?.startsWith('application/x-www-form-urlencoded') === true)
    return [formBody(value, {})];
  return [encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))];
}

async function bodyOf({
  parser,
  args,
  definitions,
  context,
}: RequestParts): Promise<WrittenBody | undefined> {
  const { body } = parser;
  if (body === undefined) return undefined;
  const { mediaType: contentType, kind, whole, encoding } = body;
  const value = whole === undefined ? objectOf(parser, args) : args[whole];
  if (value === undefined) {
    if (body.required && whole === undefined && kind === 'json') return { contentType, body: '{}' };
    return undefined;
  }
  switch (kind) {
    case 'json':
      return { contentType, body: JSON.stringify(value) };
    case 'form':
      return { contentType, body: formBody(value, encoding) };
    case 'multipart': {
      const fields = isRecord(value) ? value : { body: value };
      const files = new Set(
        parser.ofBody
          .filter(({ paramSchema }) => isFileProperty(paramSchema, definitions))
          .map((each) => each.originalName),
      );
      return await multipartBody(fields, { encoding, isFile: (name) => files.has(name), context });
    }
    case 'text':
      return { contentType, body: typeof value === 'string' ? value : JSON.stringify(value) };
    case 'bytes': {
      const { bytes, mimeType } = await fileOf(value, context);
      return {
        contentType:
          contentType === 'application/octet-stream' ? asHeader('mime_type', mimeType) : contentType,
        body: bytes,
      };
    }
  }
}

/** The body's properties, where any is given. */
function objectOf(
  parser: OperationParser,
  args: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined {
  const given = parser.ofBody.filter(({ name }) => Object.hasOwn(args, name) && args[name] !== undefined);
  if (given.length === 0) return undefined;
  const missing =
    parser.body?.requiredProperties.filter((name) => !given.some((each) => each.name === name)) ?? [];
  if (missing.length > 0)
    throw new InvalidArgumentsError(`${missing.join(', ')}: required where there is a body`);
  return Object.fromEntries(given.map(({ name, originalName }) => [originalName, args[name]]));
}
