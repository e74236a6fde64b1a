import type { SecuritySchemeObject } from '../../events/auth-scheme.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import {
  DocumentProblem,
  type OperationObject,
  quoted,
  resolved,
  type SecurityRequirement,
  type ServerObject,
  target,
} from './openapi-document.ts';

/** Fixed fields of a path item that are operations: `query` is of 3.2. */
const METHODS: readonly string[] = [
  'get',
  'put',
  'post',
  'delete',
  'options',
  'head',
  'patch',
  'trace',
  'query',
];
const TOKEN = /^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,40}$/;
const MOST_OPERATIONS = 20_000;

/** An operation of a document by itself: references are resolved, but for those of schemas. */
export interface ReadOperation {
  method: string;
  path: string;
  /** With the parameters of its path, the servers and the security that count for it. */
  operation: OperationObject & { servers: readonly ServerObject[]; security: readonly SecurityRequirement[] };
  /** The reason why it can't be used. */
  problem?: string;
}

export interface ReadDocument {
  title: string;
  operations: readonly ReadOperation[];
  /** By name. */
  securitySchemes: Readonly<Record<string, SecuritySchemeObject>>;
}

/**
 * Reads the operations of a document of OpenAPI 3.
 *
 * @throws DocumentProblem for a document that is none.
 */
export function readOperations(document: unknown): ReadDocument {
  const reading = readingOperations(document);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}

/** As {@link readOperations}, with a pause after each operation for those who have something else to do meanwhile. */
export function* readingOperations(document: unknown): Generator<undefined, ReadDocument> {
  if (!isRecord(document)) throw new DocumentProblem('it is no OpenAPI document: expected an object');
  const { openapi, swagger, paths, info } = document;
  if (swagger !== undefined) throw new DocumentProblem('it is of Swagger 2: give it to OpenAPIToolset');
  if (typeof openapi !== 'string' || !/^3\.[0-9]+/.test(openapi)) {
    const got = openapi === undefined ? 'no field openapi' : `openapi: ${quoted(openapi)}`;
    throw new DocumentProblem(`it is no OpenAPI document of 3.0, 3.1, 3.2 or Swagger 2: it has ${got}`);
  }
  if (paths !== undefined && !isRecord(paths)) throw new DocumentProblem('paths: expected an object');
  const operations: ReadOperation[] = [];
  for (const [path, item] of Object.entries(paths ?? {})) {
    if (!path.startsWith('/')) continue;
    for (const [method, operation, of] of operationsOf(document, item)) {
      operations.push(readOperation(document, { path, method, operation, of }));
      yield;
    }
    if (operations.length > MOST_OPERATIONS) {
      throw new DocumentProblem(`it has more than ${MOST_OPERATIONS} operations`);
    }
  }
  if (operations.length === 0) throw new DocumentProblem('it has no operations in paths');
  const title = isRecord(info) && typeof info.title === 'string' ? info.title : 'API';
  return { title, operations, securitySchemes: schemesOf(document) };
}

type Item = Record<string, unknown>;

function* operationsOf(document: object, given: unknown): Generator<[string, unknown, Item]> {
  let item: unknown;
  try {
    item = resolved(document, given);
  } catch (error) {
    if (!(error instanceof DocumentProblem)) throw error;
    yield ['get', { problem: error.message }, {}];
    return;
  }
  if (!isRecord(item)) return;
  for (const method of METHODS) if (item[method] !== undefined) yield [method, item[method], item];
  const { additionalOperations } = item;
  if (!isRecord(additionalOperations)) return;
  for (const [method, operation] of Object.entries(additionalOperations)) {
    if (TOKEN.test(method)) yield [method.toLowerCase(), operation, item];
  }
}

function readOperation(
  document: Record<string, unknown>,
  { path, method, operation, of }: { path: string; method: string; operation: unknown; of: Item },
): ReadOperation {
  const none = { servers: [], security: [] };
  try {
    if (!isRecord(operation)) throw new DocumentProblem('expected an object');
    if (typeof operation.problem === 'string') throw new DocumentProblem(operation.problem);
    const { operationId, summary, description, tags, deprecated, requestBody, responses } = operation;
    return {
      method,
      path,
      operation: {
        ...defined({
          operationId: textOr(operationId),
          summary: textOr(summary),
          description: textOr(description),
          tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : undefined,
          deprecated: deprecated === true ? true : undefined,
          requestBody: requestBody === undefined ? undefined : bodyOf(document, requestBody),
          responses: responsesOf(document, responses),
        }),
        parameters: parametersOf(document, of.parameters, operation.parameters),
        servers: serversOf(operation.servers ?? of.servers ?? document.servers),
        security: requirementsOf(operation.security ?? document.security),
      },
    };
  } catch (error) {
    if (!(error instanceof DocumentProblem)) throw error;
    const operationId = isRecord(operation) ? textOr(operation.operationId) : undefined;
    return { method, path, operation: { ...none, ...defined({ operationId }) }, problem: error.message };
  }
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Those of the operation count before those of its path with the same name and place. */
function parametersOf(document: object, ofPath: unknown, ofOperation: unknown): Item[] {
  const found = new Map<string, Item>();
  for (const list of [ofOperation, ofPath]) {
    if (list === undefined || list === null) continue;
    if (!Array.isArray(list)) throw new DocumentProblem('parameters: expected a list');
    for (const [index, given] of list.entries()) {
      const parameter = resolved(document, given);
      if (!isRecord(parameter) || typeof parameter.name !== 'string' || typeof parameter.in !== 'string') {
        throw new DocumentProblem(`parameters[${index}]: expected an object with name and in`);
      }
      const key = JSON.stringify([parameter.in, parameter.name]);
      if (!found.has(key)) found.set(key, withoutExamples(parameter));
    }
  }
  return [...found.values()];
}

function bodyOf(document: object, given: unknown): Item {
  const body = resolved(document, given);
  if (!isRecord(body)) throw new DocumentProblem('requestBody: expected an object');
  return { ...body, content: contentOf(document, body.content) };
}

/** Those of success only: others are errors, told as they come. */
function responsesOf(document: object, given: unknown): Item | undefined {
  if (!isRecord(given)) return undefined;
  const codes = Object.keys(given).filter((code) => /^2(?:\d\d|XX)$/i.test(code));
  const [first] = codes.sort();
  const code = first ?? (Object.hasOwn(given, 'default') ? 'default' : undefined);
  if (code === undefined) return undefined;
  let response: unknown;
  try {
    response = resolved(document, given[code]);
  } catch (error) {
    // The response's schema is only told.
    if (error instanceof DocumentProblem) return undefined;
    throw error;
  }
  if (!isRecord(response)) return undefined;
  return { [code]: { description: response.description, content: contentOf(document, response.content) } };
}

function contentOf(document: object, content: unknown): Item {
  if (!isRecord(content)) return {};
  return Object.fromEntries(
    Object.entries(content).flatMap(([type, given]) => {
      const media = resolved(document, given);
      return isRecord(media) ? [[type, withoutExamples(media)]] : [];
    }),
  );
}

function withoutExamples({ example: _, examples: __, ...rest }: Item): Item {
  return rest;
}

function serversOf(given: unknown): ServerObject[] {
  if (!Array.isArray(given)) return [];
  return given.filter((server): server is ServerObject => isRecord(server) && typeof server.url === 'string');
}

function requirementsOf(given: unknown): SecurityRequirement[] {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) throw new DocumentProblem('security: expected a list');
  return given.map((requirement, index) => {
    // To leave it out would open the operation.
    if (!isRecord(requirement)) throw new DocumentProblem(`security[${index}]: expected an object`);
    return Object.fromEntries(
      Object.entries(requirement).map(([name, scopes]) => [name, Array.isArray(scopes) ? scopes : []]),
    );
  });
}

function schemesOf({ components, ...rest }: Record<string, unknown>): Record<string, SecuritySchemeObject> {
  const given = isRecord(components) ? components.securitySchemes : undefined;
  if (!isRecord(given)) return {};
  const schemes: [string, SecuritySchemeObject][] = [];
  for (const [name, value] of Object.entries(given)) {
    try {
      const scheme = resolved({ ...rest, components }, value);
      if (isRecord(scheme) && typeof scheme.type === 'string') {
        schemes.push([name, scheme as unknown as SecuritySchemeObject]);
      }
    } catch (error) {
      // An operation that needs it says that it is missing.
      if (!(error instanceof DocumentProblem)) throw error;
    }
  }
  return Object.fromEntries(schemes);
}

/**
 * The targets of all references in a value, and in those.
 *
 * @returns by reference; without those that lead to nothing.
 */
export function referencedIn(
  document: unknown,
  value: unknown,
  found = new Map<string, unknown>(),
): Map<string, unknown> {
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) {
      for (const member of next) rest.push(member);
      continue;
    }
    const { $ref } = next as { $ref?: unknown };
    if (typeof $ref === 'string' && !found.has($ref)) {
      try {
        const definition = target(document, $ref);
        found.set($ref, definition);
        rest.push(definition);
      } catch (error) {
        if (!(error instanceof DocumentProblem)) throw error;
      }
    }
    for (const member of Object.values(next)) rest.push(member);
  }
  return found;
}
