import { z } from 'zod';
import { type Check, isObject } from '../../contract/check.ts';
import { entryOf } from '../../contract/error-codes.ts';
import { jsonObject, moment } from '../../contract/fields.ts';
import { progressJob } from '../../contract/jobs.ts';
import { REQUEST_STATUSES } from '../../contract/lists.ts';
import { checkOf, type Operation, placesOf } from '../../contract/operation.ts';

export interface DocumentedParameter {
  name: string;
  in: string;
  required: boolean;
  description?: string;
  schema: object;
}

export interface DocumentedAnswer {
  description: string;
  content?: Readonly<Record<string, { schema: object }>>;
}

/** An operation as the OpenAPI document has it. */
export interface Documented {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description?: string;
  /** Empty where no token is needed. */
  security: readonly Readonly<Record<string, readonly string[]>>[];
  'x-holdfast-permission'?: string;
  parameters?: readonly DocumentedParameter[];
  requestBody?: { required: boolean; content: Readonly<Record<string, { schema: object }>> };
  responses: Readonly<Record<string, DocumentedAnswer>>;
}

const MEANINGS = {
  400: 'The request is wrong: the message names the field.',
  401: 'No principal: the token is missing or wrong.',
  403: 'Not allowed.',
  404: 'There is no such session, turn, call, request, job or place.',
  409: 'The session, the turn that runs, the request or the job doesn’t allow it.',
  413: 'The body is too large.',
  415: 'The body isn’t JSON.',
  429: 'Too many requests: wait as long as `Retry-After` says.',
  500: 'An error that the operator finds in the log by the request id.',
  503: 'Temporal or the store can’t be reached: try again.',
  504: 'No worker has answered in time.',
} as const;

type Refusal = keyof typeof MEANINGS;

/** Every operation may answer so. */
const ALWAYS: readonly Refusal[] = [400, 401, 403, 404, 429, 500, 503];

const ERROR = z
  .object({
    error: z.looseObject({
      code: z.string().meta({ description: 'Stays the same from release to release.' }),
      message: z.string(),
      docs: z.string().optional().meta({ description: 'Where the code is described.' }),
      job: progressJob.output.optional().meta({ description: 'Of progress that came after its job’s end.' }),
      request: z
        .looseObject({ requestId: z.string(), status: z.enum(REQUEST_STATUSES), at: moment().optional() })
        .optional()
        .meta({ description: 'How the request has ended that is not pending any more.' }),
      requestIds: z.array(z.string()).optional().meta({ description: 'The pending requests that fit.' }),
      receipt: jsonObject('What became of the message, or of the decision.').optional(),
      problem: z.string().optional().meta({ description: 'Why an authorization server gave no token.' }),
    }),
  })
  .meta({ id: 'Error' });

/** Bytes of any type; OpenAPI 3.1 has an empty schema for them. */
const BYTES = { '*/*': { schema: {} } };
const BYTES_BODY = { required: true, content: BYTES };

/** Answers to requests for some of the bytes, or for changed ones only. */
const PARTS_OF_BYTES = {
  206: { description: 'The bytes of the `Range`.', content: BYTES },
  304: { description: 'The bytes are those of `If-None-Match`.' },
  416: { description: 'The `Range` is after the last byte.' },
};

/** The OpenAPI document of the gateway's routes. */
export class ApiDocument {
  /** By path, `/v1/jobs/{jobId}`, and method. */
  readonly paths: Record<string, Record<string, Documented>> = {};
  readonly schemas: Record<string, object> = {};

  /** An operation, by its contract. */
  add(operation: Operation, access: Pick<Documented, 'security' | 'x-holdfast-permission'>): void {
    const { id, tag, summary, description, method, path, unfinished, status = 200, errors = [] } = operation;
    const parameters = this.#parametersOf(operation);
    const requestBody = operation.bytes === 'body' ? BYTES_BODY : this.#requestBodyOf(operation);
    const statuses = errors.flatMap((code) => (entryOf(code)?.status ?? []) as Refusal);
    this.addRoute(method, path, {
      operationId: id,
      tags: [tag],
      summary,
      ...(description === undefined ? {} : { description }),
      ...access,
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(requestBody === undefined ? {} : { requestBody }),
      responses: {
        [status]: this.#answerOf(operation),
        ...(operation.bytes === 'answer' ? PARTS_OF_BYTES : {}),
        ...(unfinished === undefined ? {} : { 202: this.#answerOf(unfinished) }),
        ...this.refusals(...statuses, ...(method === 'get' ? [] : ([413, 415] as const))),
      },
    });
  }

  /** A route that clients have no method for. */
  addRoute(method: string, path: string, documented: Documented): void {
    this.paths[path] = { ...this.paths[path], [method]: documented };
  }

  /** Statuses of every route with a token, and these. */
  refusals(...more: readonly Refusal[]): Record<string, DocumentedAnswer> {
    return Object.fromEntries(
      [...ALWAYS, ...more].map((status) => [status, this.json(ERROR, MEANINGS[status])]),
    );
  }

  json(schema: z.ZodType, description: string): DocumentedAnswer {
    return {
      description,
      content: { 'application/json': { schema: this.#shown(checkOf(schema)) as object } },
    };
  }

  #answerOf({
    output,
    answer,
    stream,
    bytes,
  }: Pick<Operation, 'output' | 'answer' | 'stream' | 'bytes'>): DocumentedAnswer {
    if (bytes === 'answer') return { description: answer, content: BYTES };
    const { content } = output.type === 'never' ? {} : this.json(output, answer);
    const events = { 'text/event-stream': { schema: { type: 'string', description: stream } } };
    return { description: answer, content: { ...content, ...(stream === undefined ? {} : events) } };
  }

  #parametersOf(operation: Operation): DocumentedParameter[] {
    return (
      placesOf(operation)
        // A `Content-Type` is no parameter in OpenAPI.
        .filter((place) => place.in !== 'body' && place.name !== 'content-type')
        .map(({ name, in: place, check, isRequired }) => {
          const { description, ...schema } = this.#shown(check) as Check;
          return {
            name,
            in: place,
            required: place === 'path' || isRequired,
            ...(description === undefined ? {} : { description }),
            schema: schema.type === 'array' ? listText(schema) : schema,
          };
        })
    );
  }

  #requestBodyOf(operation: Operation): Documented['requestBody'] {
    const fields = placesOf(operation).filter((place) => place.in === 'body');
    if (fields.length === 0) return undefined;
    const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
    const schema = {
      type: 'object',
      properties: Object.fromEntries(fields.map(({ name, check }) => [name, strict(check)])),
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    };
    const named = operation.id.charAt(0).toUpperCase() + operation.id.slice(1);
    return {
      required: required.length > 0,
      content: { 'application/json': { schema: this.#component(named, this.#shown(schema) as object) } },
    };
  }

  /** A schema in its document form: a named schema stands among the document's own. */
  #shown(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#shown(each));
    if (!isObject(schema)) return schema;
    const { 'x-name': name, 'x-here': here } = schema;
    const fields = Object.entries(schema).filter(([field]) => !UNSHOWN.has(field));
    const own = Object.fromEntries(fields.map(([field, of]) => [field, this.#shown(of)]));
    return typeof name === 'string' ? { ...this.#component(name, own), ...(here as object) } : own;
  }

  #component(name: string, schema: object): { $ref: string } {
    this.schemas[name] ??= schema;
    return { $ref: `#/components/schemas/${name}` };
  }
}

/** A list of a query is one text. */
function listText({ items, default: byDefault }: Check): object {
  const one = (items?.enum ?? []).join('|');
  return {
    type: 'string',
    pattern: `^(${one})(,(${one}))*$`,
    ...(byDefault === undefined ? {} : { default: byDefault }),
  };
}

/** Objects of a request take their known fields only. */
function strict(check: Check): Check {
  const { properties, items, anyOf } = check;
  return {
    ...check,
    ...(items === undefined ? {} : { items: strict(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(strict) }),
    ...(properties === undefined
      ? {}
      : {
          additionalProperties: check.additionalProperties ?? check['x-leaves-out'] ?? false,
          properties: Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, strict(of)])),
        }),
  };
}

/** Keywords that only checks and errors read. */
const UNSHOWN = new Set([
  ...['x-expected', 'x-instead', 'x-flat', 'x-path-part', 'x-name', 'x-here'],
  ...['x-leaves-out', 'x-without-nulls', 'x-json'],
]);
