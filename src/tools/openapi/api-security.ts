import { variable } from '../../environment.ts';
import type { AuthCredential } from '../../events/auth-credential.ts';
import type { OAuthFlow, SecuritySchemeObject } from '../../events/auth-scheme.ts';
import type { AuthConfig } from '../../events/event-actions.ts';
import { isRecord } from '../../protocol/json.ts';
import { type WantedCredential, wantedBy } from '../call-questions.ts';
import type { Context } from '../context.ts';
import { ToolError } from '../tool-error.ts';
import type { SecurityRequirement } from './openapi-document.ts';
import { credentialProblem, schemeProblem } from './security-checks.ts';
import { asHeader } from './serialize-parameters.ts';

/**
 * Where the secret of one security scheme comes from: a credential, its text (an API key, a bearer token, or `name:password` of basic
 * authentication), a variable of the worker's environment, a provider of the app (`durable.oauth`) whose tokens are the user's, or a
 * function that is asked at each call. A credential that is a client of OAuth, or a service account, gets tokens where the scheme says.
 */
export type SchemeCredential =
  | AuthCredential
  | string
  | { env: string }
  | { provider: string }
  | ((
      context: Context,
    ) => AuthCredential | string | undefined | Promise<AuthCredential | string | undefined>);

/** The security of one operation, and where its secrets come from. */
export interface OperationSecurity {
  /** Alternatives, in order. None: the operation is open. */
  requirements: readonly SecurityRequirement[];
  schemes: Readonly<Record<string, SecuritySchemeObject>>;
  /** By name of the scheme. */
  credentials: ReadonlyMap<string, SchemeCredential>;
  /** Whether people are asked for what is missing. */
  asks: boolean;
  /** The name under which the vault keeps the credential of a scheme. */
  keyOf: (scheme: string) => string;
}

/** Of an operation that anybody may call. */
export const OPEN: OperationSecurity = {
  requirements: [],
  schemes: {},
  credentials: new Map(),
  asks: false,
  keyOf: String,
};

/** The security of a tool that has one scheme, in place of those of its operation. */
export function securityOfOne(
  scheme: SecuritySchemeObject,
  given: { origin: string; credential?: AuthCredential; key?: string; asks: boolean },
): OperationSecurity {
  const { origin, credential, key, asks } = given;
  const { type, in: place, name } = scheme;
  // An API may have several keys.
  const kind = type === 'apiKey' ? `${type}:${place}:${String(name).slice(0, 100)}` : type;
  return {
    requirements: [{ authScheme: [] }],
    schemes: { authScheme: scheme },
    credentials: new Map(credential === undefined ? [] : [['authScheme', credential]]),
    asks,
    keyOf: () => key ?? `openapi:${origin}:${kind}`,
  };
}

/** Where the credentials of an operation go, without them. */
export function securityForm({ requirements, schemes }: OperationSecurity): object {
  return requirements.map((requirement) =>
    Object.keys(requirement).map((name) => {
      const {
        type,
        in: place,
        name: field,
        scheme,
      } = Object.hasOwn(schemes, name) ? (schemes[name] ?? {}) : {};
      return [name, type ?? null, place ?? null, field ?? null, scheme ?? null];
    }),
  );
}

/** How a request proves for whom it is made. */
export interface AppliedSecurity {
  headers: Record<string, string>;
  /** Encoded pairs. */
  query: string[];
  /** Pairs of a cookie. */
  cookies: string[];
  /** Texts that must not be told. */
  secrets: string[];
  /** Tokens of an authorization server: where they are refused, others may be had. */
  tokens?: { refused: string; wanted: WantedCredential };
}

/** Result of {@link ToolAuthHandler.prepareAuthCredentials}. Fields: `AuthPreparationResult` of `@google/adk` 2.0.0. */
export interface AuthPreparationResult {
  state: 'pending' | 'done';
  authCredential?: AuthCredential;
}

/**
 * Finds the credential of one scheme for a call, or asks for it. Semantics: `ToolAuthHandler` of `@google/adk` 2.0.0, but no secret is
 * kept in the session's state, and each scheme of an API has a credential of its own.
 */
export class ToolAuthHandler {
  readonly #context: Context;
  readonly #scheme: SecuritySchemeObject | undefined;
  readonly #credential: AuthCredential | undefined;
  readonly #key: string;

  /** @param credentialKey name under which a person's answer is kept. Defaults to `openapi_credential`. */
  constructor(
    context: Context,
    authScheme?: SecuritySchemeObject,
    authCredential?: AuthCredential,
    credentialKey = 'openapi_credential',
  ) {
    this.#context = context;
    this.#scheme = authScheme;
    this.#credential = authCredential;
    this.#key = credentialKey;
  }

  static fromToolContext(
    context: Context,
    authScheme?: SecuritySchemeObject,
    authCredential?: AuthCredential,
    options: { credentialKey?: string } = {},
  ): ToolAuthHandler {
    return new ToolAuthHandler(context, authScheme, authCredential, options.credentialKey);
  }

  /** With `pending` a person was asked: the tool returns, and runs again with the answer. */
  async prepareAuthCredentials(): Promise<AuthPreparationResult> {
    if (this.#scheme === undefined) return { state: 'done' };
    const authConfig = askedFor(this.#scheme, this.#key, this.#credential);
    const own = isClient(this.#credential) ? undefined : this.#credential;
    const found = own ?? this.#context.getAuthResponse(authConfig);
    if (found !== undefined) return { state: 'done', authCredential: found };
    this.#context.requestCredential(authConfig);
    return { state: 'pending' };
  }
}

/** The request for a credential of a scheme, as people are shown it. */
function askedFor(
  scheme: SecuritySchemeObject,
  credentialKey: string,
  source: unknown,
  scopes: readonly string[] = [],
): AuthConfig {
  const authScheme = { ...toldScheme(scheme), ...(scopes.length > 0 && { scopes: [...scopes] }) };
  return { authScheme, credentialKey, ...(isClient(source) && { rawAuthCredential: source }) };
}

/** Characters of a text of a scheme that people are told. */
const LONGEST_TEXT = 500;
const MOST_SCOPES = 50;
const FLOWS = [
  'implicit',
  'password',
  'clientCredentials',
  'authorizationCode',
  'deviceAuthorization',
] as const;
const FLOW_URLS = ['authorizationUrl', 'deviceAuthorizationUrl', 'tokenUrl', 'refreshUrl'];

/** The fields of a scheme that OpenAPI knows, cut: it stands in the history with each question. */
function toldScheme(scheme: SecuritySchemeObject): object {
  const { flows } = scheme;
  const told = isRecord(flows) ? FLOWS.filter((name) => isRecord(flows[name])) : [];
  return {
    ...textsOf(scheme, ['type', 'description', 'name', 'in', 'scheme', 'bearerFormat', 'openIdConnectUrl']),
    ...(isRecord(flows) && {
      flows: Object.fromEntries(told.map((name) => [name, toldFlow(flows[name] ?? {})])),
    }),
  };
}

function toldFlow(flow: OAuthFlow): object {
  const { scopes } = flow;
  const names = isRecord(scopes) ? Object.keys(scopes).slice(0, MOST_SCOPES) : [];
  return { ...textsOf(flow, FLOW_URLS), ...(isRecord(scopes) && { scopes: textsOf(scopes, names) }) };
}

function textsOf(given: object, names: readonly string[]): object {
  const texts = names.flatMap((name) => {
    const text: unknown = Reflect.get(given, name);
    return typeof text === 'string'
      ? [[name.slice(0, LONGEST_TEXT), text.slice(0, LONGEST_TEXT).toWellFormed()]]
      : [];
  });
  return Object.fromEntries(texts);
}

/**
 * Chooses the first alternative whose credentials are all there. Where there is none, people are asked for the first that they can give.
 *
 * @returns `pending` where a person was asked: the run's result doesn't count.
 * @throws ToolError (not retryable) that names what is missing.
 */
export async function securityOf(
  security: OperationSecurity,
  context: Context,
): Promise<AppliedSecurity | 'pending'> {
  const { requirements, schemes } = security;
  if (requirements.length === 0) return nothing();
  const found = new Map<string, AuthCredential | string | undefined>();
  const credentialOf = async (name: string) => {
    if (!found.has(name)) found.set(name, await configured(security, name, context));
    return found.get(name);
  };
  for (const requirement of requirements) {
    const names = Object.keys(requirement);
    const given = await Promise.all(names.map(async (name) => [name, await credentialOf(name)] as const));
    if (given.every(([name, credential]) => credential !== undefined && isUsable(schemes, name))) {
      return applied(security, requirement, given as [string, AuthCredential | string][]);
    }
  }
  for (const requirement of requirements) {
    const names = Object.keys(requirement);
    const missing: string[] = [];
    for (const name of names) if ((await credentialOf(name)) === undefined) missing.push(name);
    const [first] = missing;
    // A source of the developer's that gives nothing is the developer's to mend.
    if (
      first === undefined ||
      !names.every((name) => isUsable(schemes, name)) ||
      !missing.every((name) => mayAsk(security, name))
    )
      continue;
    context.requestCredential(authConfigOf(security, first, requirement));
    return 'pending';
  }
  throw new ToolError(`no credentials: it needs ${alternatives(security, found)}`, {
    code: 'HOLDFAST_NO_CREDENTIALS',
    retryable: false,
  });
}

function alternatives(
  { requirements, schemes }: OperationSecurity,
  found: ReadonlyMap<string, unknown>,
): string {
  const told = requirements.slice(0, 5).map((requirement) =>
    Object.keys(requirement)
      .slice(0, 5)
      .map((name) => {
        const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined;
        const short = name.slice(0, 60);
        if (scheme === undefined) return `${short} (the document does not define it)`;
        if (!isUsable(schemes, name)) return `${short} (${scheme.type.slice(0, 30)}: not supported)`;
        return found.get(name) === undefined ? `${short} (missing)` : `${short} (given)`;
      })
      .join(' and '),
  );
  return told.join(', or ');
}

function nothing(): AppliedSecurity {
  return { headers: {}, query: [], cookies: [], secrets: [] };
}

function isUsable(schemes: OperationSecurity['schemes'], name: string): boolean {
  return Object.hasOwn(schemes, name) && schemeProblem(schemes[name]) === undefined;
}

/** The developer's, or what a person has given for this scheme of this API. */
async function configured(
  security: OperationSecurity,
  name: string,
  context: Context,
): Promise<AuthCredential | string | undefined> {
  const source = security.credentials.get(name);
  if (source === undefined || isOfServer(source))
    return mayAsk(security, name) ? context.getAuthResponse(authConfigOf(security, name)) : undefined;
  if (typeof source === 'function') {
    const given: unknown = await source(context);
    if (given === undefined || given === null || given === '') return undefined;
    if (typeof given !== 'string' && credentialProblem(given) !== undefined)
      throw unfit(name, 'a credential, or a text');
    return given as AuthCredential | string;
  }
  if (typeof source === 'string') return source;
  if ('env' in source) return variable(source.env);
  return source as AuthCredential;
}

function authConfigOf(
  { credentials, schemes, keyOf }: OperationSecurity,
  name: string,
  requirement: SecurityRequirement = {},
): AuthConfig {
  const source = credentials.get(name);
  const credentialKey = providerIn(source) ?? keyOf(name);
  return askedFor(schemes[name] as SecuritySchemeObject, credentialKey, source, requirement[name]);
}

/** Whether people, or an authorization server, may be asked for it. */
function mayAsk({ credentials, schemes, asks }: OperationSecurity, name: string): boolean {
  const source = credentials.get(name);
  return Object.hasOwn(schemes, name) && (source === undefined ? asks : isOfServer(source));
}

function isOfServer(source: SchemeCredential): boolean {
  return isClient(source) || providerIn(source) !== undefined;
}

function providerIn(source: unknown): string | undefined {
  return isRecord(source) && 'provider' in source ? String(source.provider) : undefined;
}

/** A credential that is no secret of requests, but gets tokens: a client of OAuth, a service account. */
function isClient(source: unknown): source is AuthCredential {
  if (!isRecord(source)) return false;
  const { oauth2, serviceAccount } = source as Partial<AuthCredential>;
  return serviceAccount !== undefined || (oauth2?.clientId !== undefined && oauth2.accessToken === undefined);
}

function applied(
  security: OperationSecurity,
  requirement: SecurityRequirement,
  given: readonly [string, AuthCredential | string][],
): AppliedSecurity {
  const result = nothing();
  for (const [name, credential] of given) {
    apply(result, name, security.schemes[name] as SecuritySchemeObject, credential);
    const refused = typeof credential === 'string' ? undefined : credential.oauth2?.accessToken;
    // A token of the developer's own is the developer's to mend.
    if (refused === undefined || !mayAsk(security, name)) continue;
    result.tokens = { refused, wanted: wantedBy('securityOf', authConfigOf(security, name, requirement)) };
  }
  return result;
}

function apply(
  result: AppliedSecurity,
  name: string,
  scheme: SecuritySchemeObject,
  credential: AuthCredential | string,
): void {
  if (scheme.type === 'apiKey') {
    const key = typeof credential === 'string' ? credential : (credential.apiKey ?? tokenOf(credential));
    if (key === undefined) throw unfit(name, 'an API key');
    result.secrets.push(key);
    const field = scheme.name as string;
    if (scheme.in === 'query') result.query.push(`${encodeURIComponent(field)}=${encodeURIComponent(key)}`);
    else if (scheme.in === 'cookie') result.cookies.push(`${field}=${encodeURIComponent(key)}`);
    else result.headers[field.toLowerCase()] = secretHeader(name, key);
    return;
  }
  if (scheme.type === 'http' && scheme.scheme?.toLowerCase() === 'basic') {
    const pair = typeof credential === 'string' ? credential : pairOf(credential);
    if (pair?.includes(':') !== true) throw unfit(name, 'a user name and a password');
    const encoded = Buffer.from(pair).toString('base64');
    result.secrets.push(encoded, pair.slice(pair.indexOf(':') + 1));
    result.headers.authorization = `Basic ${encoded}`;
    return;
  }
  const token = typeof credential === 'string' ? credential : (tokenOf(credential) ?? credential.apiKey);
  if (token === undefined) throw unfit(name, 'a token');
  result.secrets.push(token);
  const kind = scheme.type === 'http' && scheme.scheme?.toLowerCase() !== 'bearer' ? scheme.scheme : 'Bearer';
  result.headers.authorization = secretHeader(name, `${kind} ${token}`);
}

function pairOf({ http }: AuthCredential): string | undefined {
  const { username, password } = http?.credentials ?? {};
  return username === undefined ? undefined : `${username}:${password ?? ''}`;
}

function tokenOf({ http, oauth2 }: AuthCredential): string | undefined {
  return http?.credentials.token ?? oauth2?.accessToken;
}

/** Says nothing of the value. */
function secretHeader(name: string, value: string): string {
  try {
    return asHeader(name, value);
  } catch {
    throw unfit(name, 'a text that a header can hold');
  }
}

function unfit(name: string, wanted: string): ToolError {
  return new ToolError(`the credential of the security scheme ${name.slice(0, 60)} is not ${wanted}`, {
    code: 'HOLDFAST_NO_CREDENTIALS',
    retryable: false,
  });
}

/** @returns whether a value can be a {@link SchemeCredential}. */
export function isSchemeCredential(value: unknown): value is SchemeCredential {
  if (typeof value === 'function') return true;
  if (typeof value === 'string') return value !== '';
  if (!isRecord(value)) return false;
  const named = value.env ?? value.provider;
  return typeof named === 'string' ? named !== '' : isClient(value) || credentialProblem(value) === undefined;
}
