import type { z } from 'zod';
import { isObject, noSuchField, type Problem, shapeOf, takeAll } from '../contract/check.ts';
import { HoldfastError } from '../contract/error.ts';
import {
  type Caller,
  checkOf,
  type InputOf,
  inputFrom,
  type Noun,
  type Operation,
  type OperationsOf,
  type OutputOf,
  pathPartProblem,
  placesOf,
  type Told,
} from '../contract/operation.ts';
import { defined } from '../protocol/json.ts';
import { didYouMean } from '../schema/known-fields.ts';
import { guardOf } from './access/guarded.ts';
import { absentError } from './access/subjects.ts';
import type { GatewayContext, GatewayHono } from './gateway-app.ts';
import { RequestRefused } from './gateway-errors.ts';
import type { RouteSetting } from './route-setting.ts';

/** At most so many problems are told at once. */
const MOST_TOLD = 5;

/** The answer of a route to an operation; one of a stream or of bytes is a response. */
type AnswerOf<Of extends Operation> =
  | Told<z.output<Of['output']>>
  | (Of['unfinished'] extends { output: z.ZodType } ? Told<z.output<Of['unfinished']['output']>> : never)
  | (Of['absent'] extends string ? undefined : never)
  | (Of['stream'] extends string ? Response : never)
  | (Of['bytes'] extends 'answer' ? Response : never);

/** Functions that routes perform in place of the client's operation, since the gateway has a part of its own in it. */
type Hooks<Of extends Operation> = {
  readonly [Name in Of['name']]?: (
    input: InputOf<Extract<Of, { name: Name }>>,
    context: GatewayContext,
    perform: () => Promise<OutputOf<Extract<Of, { name: Name }>>>,
  ) => Promise<AnswerOf<Extract<Of, { name: Name }>>>;
};

type Hook = (input: object, context: GatewayContext, perform: () => Promise<unknown>) => Promise<unknown>;

/** Makes a noun's operations routes of the gateway, in their order: nothing of an input or of an answer is named here. */
export function serveAll<Of extends Noun>(
  app: GatewayHono,
  setting: RouteSetting,
  noun: Of,
  hooks: Hooks<OperationsOf<Of>> = {},
): void {
  const { client } = setting.options;
  const hooked = hooks as Readonly<Record<string, Hook | undefined>>;
  for (const operation of Object.values(noun).flat() as Operation[]) {
    const hook: Hook = hooked[operation.name] ?? ((_input, _context, perform) => perform());
    const handle = (input: object, context: GatewayContext) =>
      hook(input, context, () => client.call(operation, input as never, callerOf(context)));
    serve(app, setting, operation, handle as never);
  }
}

/** Makes an operation a route of the gateway and a part of its document. */
export function serve<Of extends Operation>(
  app: GatewayHono,
  setting: RouteSetting,
  operation: Of,
  handle: (input: InputOf<Of>, context: GatewayContext) => Promise<AnswerOf<Of>>,
): void {
  const { middleware, ...access } = guardOf(setting, operation);
  const { unfinished, status = 200, absent } = operation;
  app.document.add(operation, access);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
  app.on([operation.method.toUpperCase()], [path], ...middleware, async (context) => {
    const input = await inputOf(operation, context);
    const answer: unknown = await handle(input, context);
    if (answer instanceof Response) return answer;
    if (answer === undefined && absent !== undefined) throw absentError(absent);
    const told = acceptedOf(operation, answer as object);
    const isFinished = unfinished === undefined || unfinished.without in told;
    return context.json(told, isFinished ? status : 202);
  });
}

/** The caller that has passed: the owner of the thing's own token, or a principal, which is a person perhaps. */
function callerOf(context: GatewayContext): Caller {
  const token = context.get('jobToken');
  if (token !== undefined) return { by: 'token', token };
  return { by: 'operator', ...defined({ person: context.get('principal').person }) };
}

/** @throws HoldfastError as which a refusal is told. */
function acceptedOf({ refused }: Operation, answer: { status?: unknown; reason?: string }): object {
  if (refused === undefined || answer.status !== 'refused') return answer;
  const { error, field } = refused;
  throw new HoldfastError(error, answer.reason ?? 'refused', { details: { [field]: answer } });
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
  const { taken, problems: found } = takeAll(checkOf(operation.input), given, MOST_TOLD + 1, {
    isStrict: true,
    hint: didYouMean,
  });
  const told = [
    ...unknownIn('query', query, places),
    ...unknownIn('body', body, places),
    ...[...found, ...pathProblems(places, given)].flatMap(({ field, problem }) => {
      const place = places.find(({ field: names }) => isWithin(field, names.join('.')));
      if (place?.in === 'path') {
        // The client gets a name in a path as it is, and says itself what is wrong with it.
        Object.assign(taken as object, { [field]: given[field] });
        return [];
      }
      const at =
        place === undefined ? field : `${place.in}.${place.name}${field.slice(place.field.join('.').length)}`;
      return [`${at}: ${problem}`];
    }),
  ];
  if (told.length > 0) {
    const more = told.length > MOST_TOLD ? '; and more' : '';
    throw new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', told.slice(0, MOST_TOLD).join('; ') + more);
  }
  return taken as InputOf<Of>;
}

/** Of names that the operation doesn't have, as many as are told. */
function unknownIn(
  place: 'query' | 'body',
  given: Readonly<Record<string, unknown>>,
  places: ReturnType<typeof placesOf>,
): string[] {
  const known = places.filter((each) => each.in === place).map(({ name }) => name);
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  return unknown.slice(0, MOST_TOLD + 1).map((name) => `${place}: ${noSuchField(name, known, didYouMean)}`);
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
