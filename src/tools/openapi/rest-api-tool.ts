import { isResultSensitive } from '../../approvals/sensitive.ts';
import { hasCode } from '../../contract/error.ts';
import type { AuthCredential } from '../../events/auth-credential.ts';
import type { SecuritySchemeObject } from '../../events/auth-scheme.ts';
import type { FunctionDeclaration } from '../../events/content.ts';
import { guardedStream } from '../../net/guarded-fetch.ts';
import { secretsInHeaders, withoutSecretsIn } from '../../net/removed-secrets.ts';
import { digestOf } from '../../protocol/canonical-json.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { compileObjectSchema } from '../../schema/compile-schema.ts';
import type { CompiledSchema } from '../../schema/compiled-schema.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import type { Duration } from '../../schema/duration.ts';
import { kindOf } from '../../schema/kind-of.ts';
import * as option from '../../schema/option-kinds.ts';
import { namesOf, OptionReader, type OptionsFor, type Resolved, readFrom } from '../../schema/options.ts';
import { shownSchema } from '../../schema/outside-schema.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import {
  BaseTool,
  type BaseToolParams,
  type RunAsyncToolRequest,
  TOOL_FIELDS,
  toolOwner,
} from '../base-tool.ts';
import { type Context, questionsOf } from '../context.ts';
import { responseSchema } from '../function-response.ts';
import type { ReadonlyContext } from '../readonly-context.ts';
import { isToolError, outsideArguments, ToolError } from '../tool-error.ts';
import { keptFromRunning } from '../tool-gate.ts';
import { OPEN, type OperationSecurity, securityForm, securityOf, securityOfOne } from './api-security.ts';
import { type OperationObject, resolved } from './openapi-document.ts';
import { OperationParser, type ParserInit } from './operation-parser.ts';
import type { Definitions } from './operation-schema.ts';
import { assertPlaces, type OperationEndpoint, requestForm, restRequest } from './rest-request.ts';
import { resultOfResponse } from './rest-response.ts';
import { assertOwnSecurity } from './security-checks.ts';
import { asHeader, isFieldName } from './serialize-parameters.ts';
import { refusalOf } from './server-checks.ts';

/** Gives headers of the requests of a call. */
export type HeaderProvider = (
  context: ReadonlyContext,
) => Record<string, string> | Promise<Record<string, string>>;

/** Options of the tools of operations: those of all tools, and of requests. */
export interface RestApiToolOptions extends Omit<BaseToolParams, 'name' | 'description' | 'authConfig'> {
  /** Keeps names of arguments as the document has them. @default false */
  preservePropertyNames?: boolean;
  /** Headers that are sent with each request of a call. */
  headerProvider?: HeaderProvider;
  /** Name under which a person's credential is kept. @default one of the server and the security scheme */
  credentialKey?: string;
  /** For a tool made by hand: the document to which references of its operation lead. */
  document?: object;
  /**
   * Hosts that may be asked without TLS and in a private network: `name` at the usual ports, or `name:port`.
   *
   * @default none
   */
  allow?: readonly string[];
  /**
   * Longest time of one request, its answer among it.
   *
   * @default 60 seconds
   * @format milliseconds, or text like `'90s'`
   */
  requestTimeout?: Duration;
  /** Bytes of an answer. @default 50 MiB */
  maxResponseBytes?: number;
  /** Header that has the key of a call, where its method is neither safe nor idempotent. @default 'Idempotency-Key' */
  idempotencyHeader?: string;
}

/** Hosts that may be asked without TLS. */
export const hosts = option.own<readonly string[], readonly string[]>(
  (given) => Array.isArray(given) && given.every((each) => typeof each === 'string'),
  "a list of hosts, such as ['localhost:8080']",
  [],
);

export const REQUEST = {
  preservePropertyNames: option.flag(false),
  headerProvider: option.callback('a function of the context'),
  credentialKey: option.unchecked(),
  document: option.unchecked(),
  allow: hosts,
  requestTimeout: option.duration(60_000),
  maxResponseBytes: option.count(50 * 1024 * 1024),
  idempotencyHeader: option.checked(option.text('Idempotency-Key'), (name) =>
    isFieldName(name) ? undefined : 'expected the name of a header',
  ),
} satisfies OptionsFor<Omit<RestApiToolOptions, keyof BaseToolParams>>;

/** Facts of an operation that a toolset has read, and a program of ADK doesn't give. */
interface OperationInit {
  definitions?: Definitions;
  security?: OperationSecurity;
}

const INIT = Symbol('holdfast.operationInit');

/** Options with the toolset's facts of the operation. */
export function withOperation(options: RestApiToolOptions, init: OperationInit): RestApiToolOptions {
  return Object.assign({ ...options }, { [INIT]: init });
}

/** RFC 9110, 9.2.1, and QUERY. */
const SAFE = new Set(['get', 'head', 'options', 'trace', 'query']);
/** RFC 9110, 9.2.2. */
const IDEMPOTENT = new Set([...SAFE, 'put', 'delete']);

/** Codes of what a status says. */
const ANSWERED = new Set(['HOLDFAST_HTTP_STATUS', 'HOLDFAST_UNKNOWN_OUTCOME']);

/** Whether requests of a method only read. */
export function isSafeMethod(method: string): boolean {
  return SAFE.has(method.toLowerCase());
}

/**
 * One operation of an HTTP API as a tool. Semantics: `RestApiTool` of `@google/adk` 2.0.0, except that styles, security and status
 * codes count, and that requests are guarded and tried again by what their method allows.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * new RestApiTool('get_pet', 'Finds a pet.', { baseUrl: 'https://pets.example.com', path: '/pets/{id}', method: 'get' }, {
 *   parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
 * });
 */
export class RestApiTool extends BaseTool {
  readonly endpoint: OperationEndpoint;
  readonly #parser: OperationParser;
  readonly #definitions: Definitions;
  readonly #request: Resolved<typeof REQUEST>;
  readonly #security: OperationSecurity | undefined;
  #own: {
    scheme?: SecuritySchemeObject | undefined;
    credential?: AuthCredential | undefined;
    key?: string | undefined;
  };
  #declaration: FunctionDeclaration | undefined;
  #arguments: CompiledSchema | undefined;

  constructor(
    name: string,
    description: string,
    endpoint: OperationEndpoint,
    operation: OperationObject,
    authScheme?: SecuritySchemeObject,
    authCredential?: AuthCredential,
    options: RestApiToolOptions = {},
  ) {
    const init = (options as { [INIT]?: OperationInit })[INIT] ?? {};
    const owner = toolOwner('RestApiTool', name);
    const read = new OptionReader(owner, options);
    const own: Record<string, unknown> = { ...options };
    for (const field of namesOf(REQUEST)) delete own[field];
    const method = methodOf(owner, endpoint);
    const request = readFrom(REQUEST, read);
    const { preservePropertyNames, idempotencyHeader, document, credentialKey: key } = request;
    assertOwnSecurity(read, { authScheme, authCredential });
    const parserOptions: ParserInit = {
      preservePropertyNames,
      withoutHeaders: new Set([idempotencyHeader.toLowerCase()]),
      ...defined({ document, definitions: init.definitions }),
    };
    const parser = new OperationParser(operation, parserOptions);
    assertPlaces(owner, endpoint, parser);
    super({
      isReadOnly: SAFE.has(method),
      idempotent: IDEMPOTENT.has(method),
      ...(isResultSensitive(options.sensitive ?? false) ? {} : { spool: true }),
      ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)),
      name,
      description: visibleLines(description),
    });
    this.endpoint = Object.freeze({ ...endpoint, method });
    this.#parser = parser;
    this.#definitions = init.definitions ?? definitionsIn(document ?? operation);
    this.#request = request;
    this.#security = init.security;
    this.#own = { scheme: authScheme, credential: authCredential, key };
  }

  /**
   * The scheme by which all requests are authenticated, in place of those of the operation.
   *
   * @throws DefinitionError
   */
  configureAuthScheme(authScheme: SecuritySchemeObject): void {
    assertOwnSecurity(this.#reader(), { authScheme });
    this.#own = { ...this.#own, scheme: authScheme };
  }

  /** @throws DefinitionError */
  configureAuthCredential(authCredential: AuthCredential): void {
    assertOwnSecurity(this.#reader(), { authCredential });
    this.#own = { ...this.#own, credential: authCredential };
  }

  configureCredentialKey(credentialKey: string): void {
    this.#own = { ...this.#own, key: credentialKey };
  }

  override _getDeclaration(): FunctionDeclaration {
    if (this.#declaration !== undefined) return this.#declaration;
    const response = this.#parser.responseSchema();
    this.#declaration = Object.freeze({
      name: this.name,
      description: this.description,
      parametersJsonSchema: shownSchema(this.#parser.getJsonSchema()),
      ...(response === undefined ? {} : { responseJsonSchema: responseSchema(shownSchema(response)) }),
    });
    return this.#declaration;
  }

  /** An approval is for the operation that the document described then, at its server. */
  override get definitionDigest(): string {
    return digestOf({
      description: this.description,
      ...requestForm(this.endpoint, this.#parser),
      security: securityForm(this.#securityOfCalls()),
    });
  }

  override async readArguments(args: Record<string, unknown>): Promise<Record<string, unknown>> {
    this.#arguments ??= compileObjectSchema(this.#parser.getJsonSchema(), {
      owner: toolOwner('RestApiTool', this.name),
      field: 'parameters',
      side: 'input',
      isOutside: true,
    });
    return await outsideArguments(this.name, this.#arguments, args);
  }

  /**
   * Makes the request of a call.
   *
   * @returns JSON, a text, or the handle of an artifact; `{ status }` for an answer without a body.
   * @throws ToolError with status and body of any answer but one of success, HOLDFAST_UNKNOWN_OUTCOME where none came
   * from the server itself.
   */
  override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    const { toolContext: context } = request;
    const args = await this.readArguments(request.args);
    const refusal = refusalOf(this.endpoint.baseUrl, this.#request.allow);
    if (refusal !== undefined) throw this.#refused(`endpoint.baseUrl: ${refusal}`);
    const kept = await keptFromRunning(this, request);
    if (kept !== undefined) return kept;
    return await this.#asked(args, context, true);
  }

  /** @param mayRenew whether tokens that the server refuses are renewed, and the request is made once more. */
  async #asked(args: Record<string, unknown>, context: Context, mayRenew: boolean): Promise<unknown> {
    const security = await securityOf(this.#securityOfCalls(), context);
    // Text of ADK.
    if (security === 'pending')
      return { pending: true, message: 'Needs your authorization to access your data.' };
    const tokens = mayRenew ? security.tokens : undefined;
    const { endpoint } = this;
    const { url, method, headers, body } = await restRequest({
      ...{ endpoint, parser: this.#parser, definitions: this.#definitions, args, security, context },
    });
    const provided = await this.#provided(context);
    const secrets = [...security.secrets, ...secretsInHeaders(provided)];
    const { idempotencyHeader, allow, requestTimeout: timeout, maxResponseBytes: maxBytes } = this.#request;
    const isIdempotent = IDEMPOTENT.has(this.endpoint.method) && this.durable.idempotent;
    if (!isIdempotent && context.functionCallId !== undefined) {
      headers[idempotencyHeader.toLowerCase()] = context.idempotencyKey;
    }
    try {
      const signal = context.abortSignal;
      const sent = { method, headers: { ...headers, ...provided }, signal, ...defined({ body }) };
      const answer = await guardedStream(url, sent, { allow, timeout, leavesHost: true });
      if (answer.status !== 401 || tokens === undefined)
        return await resultOfResponse(answer, {
          ...{ tool: this.name, method, context, secrets, maxBytes },
          isRepeatable: this.#isRepeatable,
          isSensitive: isResultSensitive(this.durable.sensitive),
        });
      answer.drop();
    } catch (error) {
      throw this.#failure(error, secrets);
    }
    await questionsOf(context).current(tokens.refused, tokens.wanted);
    return await this.#asked(args, context, false);
  }

  #reader(): OptionReader {
    return new OptionReader(toolOwner('RestApiTool', this.name), {});
  }

  get #isRepeatable(): boolean {
    return this.isReadOnly || this.durable.onUnknownOutcome === 'retry';
  }

  #failure(error: unknown, secrets: readonly string[]): unknown {
    if (hasCode(error, 'HOLDFAST_ADDRESS_REFUSED'))
      return this.#refused(withoutSecretsIn(error.message, secrets));
    if (!hasCode(error, 'HOLDFAST_FETCH_FAILED')) {
      const isDecided = isToolError(error) && (ANSWERED.has(error.code) || !error.retryable);
      if (isDecided || this.#isRepeatable) return error;
      // Another attempt would do it again.
      const text = `Error in tool '${this.name}': its answer can't be told: ${thrownMessage(error)}; it has run`;
      return new ToolError(withoutSecretsIn(text, secrets), { retryable: false, cause: error });
    }
    const wasSent = (error as { details?: { sent?: unknown } }).details?.sent !== false;
    const text = `Error in tool '${this.name}': ${withoutSecretsIn(error.message, secrets)}`;
    if (!wasSent || this.isReadOnly) return new ToolError(text, { code: 'HOLDFAST_FETCH_FAILED' });
    // The server may have done it: `onUnknownOutcome` decides.
    return new ToolError(`${text}; it may have run`, { code: 'HOLDFAST_UNKNOWN_OUTCOME' });
  }

  #refused(problem: string): ToolError {
    const options = { code: 'HOLDFAST_ADDRESS_REFUSED', retryable: false };
    return new ToolError(`Error in tool '${this.name}': ${problem}`, options);
  }

  async #provided(context: Context): Promise<Record<string, string>> {
    const headers: unknown = (await this.#request.headerProvider?.(context)) ?? {};
    if (!isRecord(headers)) {
      const problem = `headerProvider: expected headers by name, got ${kindOf(headers)}`;
      throw new ToolError(`Error in tool '${this.name}': ${problem}`, { retryable: false });
    }
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), asHeader(name, String(value))]),
    );
  }

  #securityOfCalls(): OperationSecurity {
    const { scheme, credential, key } = this.#own;
    if (scheme === undefined) return this.#security ?? OPEN;
    return securityOfOne(scheme, {
      origin: URL.parse(this.endpoint.baseUrl)?.origin ?? '',
      ...defined({ credential, key }),
      asks: this.#security?.asks ?? true,
    });
  }
}

function definitionsIn(document: object): Definitions {
  return (reference) => resolved(document, { $ref: reference });
}

function methodOf(owner: string, endpoint: OperationEndpoint): string {
  const { baseUrl, path, method }: Partial<OperationEndpoint> = isRecord(endpoint) ? endpoint : {};
  for (const [field, value] of Object.entries({ baseUrl, path, method })) {
    if (typeof value === 'string' && (value !== '' || field === 'baseUrl')) continue;
    const problem = `expected a text, got ${value === '' ? "''" : kindOf(value)}`;
    throw new DefinitionError({ owner, field: `endpoint.${field}`, problem });
  }
  return String(method).toLowerCase();
}

/** A parsed operation as a tool's parts. Fields: those of `ParsedOperation` that `createRestApiTool` of `@google/adk` 2.0.0 reads. */
export interface RestApiToolParts {
  name: string;
  description: string;
  endpoint: OperationEndpoint;
  operation: OperationObject;
  authScheme?: SecuritySchemeObject;
}

/**
 * The tool of a parsed operation. Semantics: the function of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError
 * @example const tools = new OpenApiSpecParser().parse(document).map((parsed) => createRestApiTool(parsed, { document }));
 */
export function createRestApiTool(parsed: RestApiToolParts, options: RestApiToolOptions = {}): RestApiTool {
  const { name, description, endpoint, operation, authScheme } = parsed;
  return new RestApiTool(name, description, endpoint, operation, authScheme, undefined, options);
}

export const REST_TOOL_FIELDS = [...TOOL_FIELDS, ...namesOf(REQUEST)];
