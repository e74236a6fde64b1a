import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { SessionNotFound } from '../../src/store/store-errors.ts';
import { inTier } from '../setup/tier.ts';
import { type Document, DocumentCheck, readDocument } from './document-check.ts';
import { HOST, type Stub, stubGateway } from './gateway-stub.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

interface Sent {
  path: string;
  method: string;
  /** By place and name, as `query after`. */
  parameters: Record<string, string | undefined>;
  body: unknown;
}

/** Answers every question the same: who asks it has let the request through. */
const reached = async () => Promise.reject(new SessionNotFound('reached'));
/** Whose a request is, is asked before anything else of it is looked at. */
const approval = {
  ...{ requestId: 'x', app: 'shop', userId: 'ada', sessionId: 's1', session: 's-1', invocationId: 'e-1' },
  ...{
    kind: 'confirmation',
    status: 'pending',
    callKey: 'e-1.1.0',
    callId: 'call_0',
    tool: 'pay',
    agent: 'desk',
  },
  ...{ runKey: 'e-1', workflowId: 'shop/ada/s1', rootWorkflowId: 'shop/ada/s1' },
  ...{ path: ['desk'], hint: 'Pay?', args: {}, argsDigest: 'd', gateDigest: 'g', sensitive: false },
  ...{ terms: {}, since: 1, votes: [], history: [] },
};
const job = {
  ...{ jobId: 'x', app: 'shop', userId: 'ada', sessionId: 's1', session: 's-1', invocationId: 'e-1' },
  ...{ runKey: 'e-1', callKey: 'e-1.1.0', callId: 'call_0', tool: 'order', agent: 'desk' },
  ...{
    status: 'running',
    mode: 'parked',
    since: 1,
    until: 2,
    polls: { notYet: 0, failed: 0, failedInARow: 0 },
  },
};
const SHOWN: Stub = { 'approvals.get': () => approval, 'jobs.get': () => job };
const client = new Proxy(SHOWN, { get: (shown, name) => Reflect.get(shown, name) ?? reached });
const { gateway, send, lines } = stubGateway(client);

let document: Document;
let check: DocumentCheck;
beforeAll(async () => {
  document = await readDocument(gateway, HOST);
  check = new DocumentCheck(document);
});

const JSON_TYPE = { 'content-type': 'application/json' };
const ODD = ['', '\0', '\ud800', '%', '%2F', '-1', '1e309', 'null', '__proto__', '9007199254740993', 'ü💡'];
const oddText = fc.oneof(fc.string(), fc.constantFrom(...ODD, 'x'.repeat(2_000)));
const oddValue = fc.oneof(fc.jsonValue(), oddText);

/** Mostly what a schema allows. */
function valueFor(given: Schema = {}): fc.Arbitrary<unknown> {
  const schema = given.$ref === undefined ? given : (named(given.$ref) as Schema);
  return fc.oneof({ weight: 9, arbitrary: fitting(schema) }, { weight: 1, arbitrary: oddValue });
}

function fitting({ type, enum: values, anyOf, items, properties = {}, required }: Schema) {
  if (values !== undefined) return fc.constantFrom(...values);
  if (anyOf !== undefined) return fc.oneof(...anyOf.map(valueFor));
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object': {
      const fields = Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, valueFor(of)]));
      return fc.record(fields, { requiredKeys: required ?? [] });
    }
    case 'array':
      return fc.array(valueFor(items), { maxLength: 2 });
    case 'integer':
      return fc.oneof(fc.nat(5), fc.maxSafeNat(), fc.constantFrom(1_000, 1_001, 60_001));
    case 'boolean':
      return fc.boolean();
    case 'string':
      return oddText;
    default:
      return oddValue;
  }
}

function named(reference: string): unknown {
  return document.components.schemas[reference.split('/').at(-1) ?? ''];
}

function requests(): fc.Arbitrary<Sent> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return fc.constantFrom(...operations).chain(({ path, method, operation }) => {
    const places = (operation.parameters ?? []).filter((parameter) => parameter.in !== 'path');
    const parameters = places.map((parameter) => {
      const { schema } = parameter as { schema?: Schema };
      const value = valueFor(schema).map((each) => (typeof each === 'string' ? each : JSON.stringify(each)));
      // No lone surrogate can be part of a URL.
      const sendable = value.map((text) =>
        parameter.in === 'header' ? asHeader(text) : text.toWellFormed(),
      );
      return [`${parameter.in} ${parameter.name}`, fc.option(sendable, { nil: undefined })];
    });
    const body = valueFor(operation.requestBody?.content['application/json']?.schema as Schema);
    return fc.record({
      path: fc.constant(path),
      method: fc.constant(method),
      parameters: fc.record(Object.fromEntries(parameters)),
      body:
        operation.requestBody === undefined ? fc.constant(undefined) : fc.option(body, { nil: undefined }),
    });
  });
}

function asHeader(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '').trim();
}

function partsIn(place: string, parameters: Sent['parameters']): Record<string, string> {
  const parts = Object.entries(parameters).flatMap(([key, value]) => {
    const [where, name = ''] = key.split(' ');
    return where === place && value !== undefined ? [[name, value]] : [];
  });
  return Object.fromEntries(parts);
}

/** What the document says of it. */
function isAllowed({ path, method, parameters, body }: Sent): boolean {
  const operation = document.paths[path]?.[method];
  const steps = ['paths', path, method];
  const fit = (operation?.parameters ?? []).map((parameter, index) => {
    const text = parameters[`${parameter.in} ${parameter.name}`];
    if (text === undefined) return true;
    const validate = check.validator([...steps, 'parameters', String(index), 'schema']);
    return validate(text) || (/^\d+(\.\d+)?$|^true$|^false$/.test(text) && validate(JSON.parse(text)));
  });
  if (!fit.every(Boolean)) return false;
  // A document has no word for parameters that come together only.
  const place = (operation?.parameters ?? []).filter(({ name }) => /^after[A-Z]/.test(name));
  if (new Set(place.map(({ name }) => parameters[`query ${name}`] === undefined)).size > 1) return false;
  if (operation?.requestBody === undefined) return true;
  // Bytes may be anything.
  if (operation.requestBody.content['*/*'] !== undefined) return true;
  const validate = check.validator([...steps, 'requestBody', 'content', 'application/json', 'schema']);
  // No body counts as an empty one.
  return validate(body === undefined ? {} : JSON.parse(JSON.stringify(body)));
}

test('whatever is sent, the answer is a documented one, and what the document allows gets through [gateway.document]', async () => {
  await fc.assert(
    fc.asyncProperty(requests(), async (sent) => {
      const { path, method, parameters, body } = sent;
      const isJson =
        body !== undefined && document.paths[path]?.[method]?.requestBody?.content[JSON_TYPE['content-type']];
      const headers = { ...partsIn('header', parameters), ...(isJson ? JSON_TYPE : {}) };
      const filled = path.replaceAll(/\{\w+\}/g, 'x');
      const answer = await send(`${filled}?${new URLSearchParams(partsIn('query', parameters))}`, {
        method: method.toUpperCase(),
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const type = answer.headers.get('content-type') ?? '';
      const said = type.startsWith('application/json') ? await answer.json() : undefined;
      check.check(method, filled, answer.status, type, said);
      expect(answer.status).toBeLessThan(500);
      const { code } = (said as { error?: { code: string } } | undefined)?.error ?? {};
      expect(code === 'HOLDFAST_GATEWAY_BAD_REQUEST').toBe(!isAllowed(sent));
    }),
    { numRuns: inTier(50, 500) },
  );
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
});
