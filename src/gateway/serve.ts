import type { z } from 'zod';
import { type Check, isObject, type Problem, shapeOf, takeAll } from '../contract/check.ts';
import { entryOf } from '../contract/error-codes.ts';
import {
  checkOf,
  type InputOf,
  inputFrom,
  type Operation,
  pathPartProblem,
  placesOf,
  type Told,
} from '../contract/operation.ts';
import { didYouMean } from '../schema/known-fields.ts';
import type { GatewayContext, GatewayHono, GatewayMiddleware } from './gateway-app.ts';
import { RequestRefused } from './gateway-errors.ts';
import { type ErrorCode, problems } from './schemas/answers.ts';

/** Who may ask for an operation. */
export interface Guard {
  middleware: readonly GatewayMiddleware[];
  security: Record<string, string[]>[];
  'x-holdfast-permission': string;
}

/** At most so many problems are told at once. */
const MOST_TOLD = 5;

/** The answer to an operation; where it has a stream, that may be one. */
type AnswerOf<Of extends Operation> =
  | Told<z.output<Of['output']>>
  | (Of['unfinished'] extends { output: z.ZodType } ? Told<z.output<Of['unfinished']['output']>> : never)
  | (Of['stream'] extends string ? Response : never);

/** Makes an operation a route of the gateway and a part of its document. */
export function serve<Of extends Operation>(
  app: GatewayHono,
  operation: Of,
  guard: Guard,
  handle: (input: InputOf<Of>, context: GatewayContext) => Promise<AnswerOf<Of>>,
): void {
  describe(app, operation, guard);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
  app.on([operation.method.toUpperCase()], [path], ...guard.middleware, async (context) => {
    const input = await inputOf(operation, context);
    const answer: unknown = await handle(input, context);
    if (answer instanceof Response) return answer;
    const { unfinished, status = 200 } = operation;
    const isFinished = unfinished === undefined || unfinished.without in (answer as object);
    return context.json(answer as object, isFinished ? status : 202);
  });
}

/** @throws RequestRefused naming the fields as they stand in the request. */
async function inputOf<Of extends Operation>(operation: Of, context: GatewayContext): Promise<InputOf<Of>> {
  const { req } = context;
  const body = operation.method === 'post' ? await bodyOf(context) : {};
  const query = Object.fromEntries(
    Object.entries(req.queries()).map(([name, [value, ...more]]) => [
      name,
      more.length === 0 ? value : [value, ...more],
    ]),
  );
  const given = inputFrom(operation, { path: req.param(), query, header: req.header(), body });
  const places = placesOf(operation);
  const { taken, problems: found } = takeAll(checkOf(operation.input), given, {
    isStrict: true,
    hint: didYouMean,
  });
  const known = places.filter((place) => place.in === 'body').map(({ name }) => name);
  const unknown = Object.keys(body).filter((name) => !known.includes(name));
  const told = [
    ...unknown.map((name) => {
      const shown = name.slice(0, 100);
      return `body: there is no field ${JSON.stringify(shown)}${didYouMean(shown, known)}`;
    }),
    ...[...found, ...pathProblems(places, given)].flatMap(({ field, problem }) => {
      const place = places.find(({ field: names }) => isWithin(field, names.join('.')));
      // What a path names is the client's affair: it says of each what it is.
      if (place?.in === 'path') return [];
      const at =
        place === undefined ? field : `${place.in}.${place.name}${field.slice(place.field.join('.').length)}`;
      return [`${at}: ${problem}`];
    }),
  ];
  if (told.length > 0) {
    const more = told.length > MOST_TOLD ? `; and ${told.length - MOST_TOLD} more` : '';
    throw new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', told.slice(0, MOST_TOLD).join('; ') + more);
  }
  return taken as InputOf<Of>;
}

/** Of names that are given, and that paths are to have. */
function pathProblems(places: ReturnType<typeof placesOf>, given: Record<string, unknown>): Problem[] {
  return places.flatMap(({ field: [field = ''], check }) => {
    const value = given[field];
    const problem =
      check['x-path-part'] === true && typeof value === 'string' ? pathPartProblem(value) : undefined;
    return problem === undefined ? [] : [{ field, problem }];
  });
}

function isWithin(field: string, place: string): boolean {
  return field === place || field.startsWith(`${place}.`) || field.startsWith(`${place}[`);
}

/** No body counts as an empty one. */
async function bodyOf({ req }: GatewayContext): Promise<Record<string, unknown>> {
  const text = await req.text();
  let body: unknown = {};
  try {
    if (text !== '') body = JSON.parse(text);
  } catch {
    throw new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', 'body: expected JSON');
  }
  if (isObject(body)) return body;
  throw new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', `body: expected an object, got ${shapeOf(body)}`);
}

function describe(app: GatewayHono, operation: Operation, guard: Guard): void {
  const { id, tag, summary, description, method, path, unfinished, status = 200, errors = [] } = operation;
  const places = placesOf(operation);
  const inBody = places.filter((place) => place.in === 'body');
  const { middleware: _of, ...security } = guard;
  const statuses = errors.flatMap((code) => (entryOf(code)?.status ?? []) as ErrorCode);
  app.openAPIRegistry.registerPath({
    method,
    path,
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...security,
    ...(places.length > inBody.length ? { parameters: parametersOf(app, operation) } : {}),
    ...(inBody.length > 0 ? { requestBody: requestBodyOf(app, operation) } : {}),
    responses: {
      [status]: answered(app, operation),
      ...(unfinished === undefined ? {} : { 202: answered(app, unfinished) }),
      ...problems(...statuses, ...(method === 'get' ? [] : ([413, 415] as const))),
    },
  } as Parameters<typeof app.openAPIRegistry.registerPath>[0]);
}

function answered(
  app: GatewayHono,
  { output, answer, stream }: Pick<Operation, 'output' | 'answer' | 'stream'>,
): object {
  return {
    description: answer,
    content: {
      ...(output.type === 'never' ? {} : { 'application/json': { schema: shown(app, checkOf(output)) } }),
      ...(stream === undefined
        ? {}
        : { 'text/event-stream': { schema: { type: 'string', description: stream } } }),
    },
  };
}

function parametersOf(app: GatewayHono, operation: Operation): object[] {
  return placesOf(operation)
    .filter((place) => place.in !== 'body')
    .map(({ name, in: place, check, isRequired }) => {
      const { description, ...schema } = shown(app, check) as Check;
      return {
        name,
        in: place,
        required: place === 'path' || isRequired,
        ...(description === undefined ? {} : { description }),
        schema: place === 'path' ? { type: 'string' } : schema.type === 'array' ? listText(schema) : schema,
      };
    });
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

function requestBodyOf(app: GatewayHono, operation: Operation): object {
  const fields = placesOf(operation).filter((place) => place.in === 'body');
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
    content: { 'application/json': { schema: component(app, named, shown(app, schema) as object) } },
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

/** What is there for checks and errors only. */
const UNSHOWN = new Set([
  ...['x-expected', 'x-instead', 'x-flat', 'x-path-part', 'x-name', 'x-here'],
  ...['x-leaves-out', 'x-without-nulls'],
]);

/** A schema as the document has it: what has a name stands among the document's own. */
function shown(app: GatewayHono, schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((each) => shown(app, each));
  if (!isObject(schema)) return schema;
  const { 'x-name': name, 'x-here': here } = schema;
  const fields = Object.entries(schema).filter(([field]) => !UNSHOWN.has(field));
  const own = Object.fromEntries(fields.map(([field, of]) => [field, shown(app, of)]));
  return typeof name === 'string' ? { ...component(app, name, own), ...(here as object) } : own;
}

function component(app: GatewayHono, name: string, schema: object): { $ref: string } {
  const { definitions } = app.openAPIRegistry;
  const isKnown = definitions.some((each) => each.type === 'component' && each.name === name);
  if (!isKnown) app.openAPIRegistry.registerComponent('schemas', name, schema);
  return { $ref: `#/components/schemas/${name}` };
}
