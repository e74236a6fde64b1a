import type { KeptTokens } from '../credentials/auth-credential.ts';
import type { AuthCredential } from '../events/auth-credential.ts';
import type { OAuthFlow, OpenIdConnectWithConfig, SecuritySchemeObject } from '../events/auth-scheme.ts';
import type { AuthConfig } from '../events/event-actions.ts';
import { safeUrlOf } from '../net/public-url.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { namesOf, type OptionReader, type OptionsFor, type Resolved, readGroup } from '../schema/options.ts';

/** An authorization server, and how an app gets tokens there. */
export interface OAuthProviderOptions {
  /**
   * How tokens are got. `'authorization_code'`: a person consents in a browser (PKCE with S256). `'device_code'`: a person consents at
   * another device (RFC 8628). `'client_credentials'`: the app asks in its own name. `'jwt_bearer'`: a service account signs for the app
   * (RFC 7523).
   *
   * @default 'authorization_code'
   */
  grant?: 'authorization_code' | 'device_code' | 'client_credentials' | 'jwt_bearer';
  /** The issuer's identifier, an https URL: its metadata names what is not given here (OpenID discovery, RFC 8414). */
  issuer?: string;
  /** The address at which people consent. @default by the metadata */
  authorizationEndpoint?: string;
  /** The address of tokens. @default by the metadata */
  tokenEndpoint?: string;
  /** The address at which the flow of another device begins. @default by the metadata */
  deviceAuthorizationEndpoint?: string;
  /** The address at which tokens are given up. @default by the metadata */
  revocationEndpoint?: string;
  /** The client's id at the server. @default the gateway registers a client (RFC 7591) when the first person connects */
  clientId?: string;
  /** The client's secret. @default a public client */
  clientSecret?: string;
  /**
   * How the client proves itself.
   *
   * @default 'client_secret_basic' with a secret, 'none' without
   */
  clientAuthentication?: 'client_secret_basic' | 'client_secret_post' | 'none';
  /** The account's private key for `jwt_bearer`, PKCS #8 in PEM. */
  privateKey?: string;
  /** Scopes that people are always asked for. A tool's own come on top. @default none */
  scopes?: readonly string[];
  /** The server that the tokens are for (RFC 8707), an https URL. */
  resource?: string;
  /** The audience of the tokens, for servers that have no `resource`. */
  audience?: string;
  /**
   * Address of the way back for clients of ADK, which show the consent page themselves. Pages of the gateway have their own.
   *
   * @default the client adds it, as ADK's do
   */
  redirectUri?: string;
  /** More fields of authorization requests. @example { access_type: 'offline', prompt: 'consent' } */
  parameters?: Readonly<Record<string, string>>;
  /** Hosts of the server that are no part of the public internet, or have no TLS: `name` or `name:port`. @default none */
  allow?: readonly string[];
}

const ADDRESS = option.custom(addressOf);
const TEXTS = option.own<readonly string[]>(
  (given) => Array.isArray(given) && given.every((each) => typeof each === 'string' && each !== ''),
  'a list of texts',
);
export const CLIENT_PROOFS = ['client_secret_basic', 'client_secret_post', 'none'] as const;

/** Options without which a grant can't be; the endpoints among them, and `tokenEndpoint`, only where no issuer is given. */
const NEEDED = {
  authorization_code: ['authorizationEndpoint'],
  device_code: ['deviceAuthorizationEndpoint', 'clientId'],
  client_credentials: ['clientId', 'clientSecret'],
  jwt_bearer: ['clientId', 'privateKey'],
} as const;

const ADDRESSES = {
  issuer: ADDRESS,
  authorizationEndpoint: ADDRESS,
  tokenEndpoint: ADDRESS,
  deviceAuthorizationEndpoint: ADDRESS,
  revocationEndpoint: ADDRESS,
};

export const OAUTH_PROVIDER = {
  grant: option.choice(namesOf(NEEDED), 'authorization_code'),
  ...ADDRESSES,
  clientId: option.text(),
  clientSecret: option.text(),
  clientAuthentication: option.choice(CLIENT_PROOFS),
  privateKey: option.text(),
  scopes: TEXTS,
  resource: ADDRESS,
  audience: option.text(),
  redirectUri: ADDRESS,
  parameters: option.own<Readonly<Record<string, string>>>(
    (given) => isRecord(given) && Object.values(given).every((value) => typeof value === 'string'),
    'texts by name',
  ),
  allow: TEXTS,
} satisfies OptionsFor<OAuthProviderOptions>;

/** {@link OAuthProviderOptions} that were checked: JSON. */
export interface OAuthProvider extends Resolved<typeof OAUTH_PROVIDER> {}

/** @throws DefinitionError naming the option, and never quoting a secret. */
export function resolveProvider(owner: string, field: string, options: unknown): OAuthProvider {
  return readGroup(OAUTH_PROVIDER, { owner, options, field }, (provider, read) => {
    const { grant, issuer, allow = [] } = provider;
    for (const name of [...NEEDED[grant], 'tokenEndpoint'] as const) {
      if (provider[name] !== undefined) continue;
      if (!name.endsWith('Endpoint')) read.fail(name, `required for ${grant}`);
      if (issuer === undefined) read.fail(name, 'required where no issuer is given that names it');
    }
    // The developer's own servers may be anywhere; servers that only an answer names must be on the public internet.
    const own = namesOf(ADDRESSES).flatMap((name) => URL.parse(provider[name] ?? '')?.host ?? []);
    return { ...provider, allow: [...allow, ...own] };
  });
}

/** Providers by the `credentialKey` under which tools ask for their tokens. @throws DefinitionError */
export function resolveProviders(
  owner: string,
  field: string,
  options: unknown = {},
): Readonly<Record<string, OAuthProvider>> {
  if (!isRecord(options)) {
    const problem = `expected providers by the credentialKey of their tools, got ${kindOf(options)}`;
    throw new DefinitionError({ owner, field, problem });
  }
  const at = (key: string) => resolveProvider(owner, `${field}.${key}`, options[key]);
  // A key that a tool names may be one of Object's.
  return Object.freeze(
    Object.assign(Object.create(null), ...Object.keys(options).map((key) => ({ [key]: at(key) }))),
  );
}

/** The server and the client there: what one of them has given is for no other. */
export function partiesOf({ issuer, tokenEndpoint = '', clientId }: OAuthProvider) {
  return { issuer: issuer ?? URL.parse(tokenEndpoint)?.origin ?? '', ...defined({ clientId }) };
}

/** Whether tokens may go to this server: it has given them to this client. An MCP server may name another one later. */
export function hasGiven(provider: OAuthProvider, { issuer, clientId }: Partial<KeptTokens>): boolean {
  const now = partiesOf(provider);
  return (issuer ?? now.issuer) === now.issuer && (clientId ?? now.clientId) === now.clientId;
}

/** Whether a person has to consent: else its tokens are the app's. */
export function isForPeople({ grant }: Pick<OAuthProvider, 'grant'>): boolean {
  return grant === 'authorization_code' || grant === 'device_code';
}

function addressOf(given: unknown, read: OptionReader, name: string): string {
  if (safeUrlOf(given)?.hash === '') return given as string;
  const wanted = 'expected a URL of https without a name, a password or a fragment';
  return read.fail(name, `${wanted}${typeof given === 'string' ? '' : `, got ${kindOf(given)}`}`);
}

/**
 * The provider that a tool's own `authConfig` describes, as ADK's programs have it: endpoints in the scheme, the client in
 * `rawAuthCredential`. Undefined for a scheme without a client: its provider is the app's of this `credentialKey`.
 *
 * @throws DefinitionError naming the field.
 */
export function providerOfAuthConfig(owner: string, authConfig: AuthConfig): OAuthProvider | undefined {
  const scheme = authConfig.authScheme as SecuritySchemeObject;
  const { oauth2, serviceAccount } = authConfig.rawAuthCredential ?? ({} as Partial<AuthCredential>);
  if (serviceAccount?.serviceAccountCredential !== undefined)
    return providerOfServiceAccount(owner, serviceAccount);
  if (oauth2?.clientId === undefined || !isOAuthScheme(scheme)) return undefined;
  const method = oauth2.tokenEndpointAuthMethod;
  const { clientId, clientSecret, audience, redirectUri } = oauth2;
  const isPost = method === undefined || method === 'client_secret_post';
  return resolveProvider(owner, 'authConfig', {
    ...endpointsOf(owner, scheme),
    ...defined({ clientId, clientSecret: clientSecret || undefined, audience, redirectUri }),
    ...(clientSecret ? { clientAuthentication: isPost ? 'client_secret_post' : method } : {}),
    scopes: scopesOf(authConfig),
    // As ADK asks: without them Google gives no refresh token.
    parameters: { access_type: 'offline', prompt: 'consent' },
  });
}

/** Whether a scheme's tokens come from an authorization server. */
export function isOAuthScheme(scheme: object): scheme is SecuritySchemeObject {
  const { type } = scheme as Partial<SecuritySchemeObject>;
  return type === 'oauth2' || type === 'openIdConnect';
}

/** Scopes that a tool asks for. */
export function scopesOf({ authScheme }: Pick<AuthConfig, 'authScheme'>): string[] {
  const { scopes, flows } = authScheme as SecuritySchemeObject;
  const named = Array.isArray(scopes) ? scopes : Object.keys(flowOf(flows)?.[1].scopes ?? {});
  // A text may have several, as in OAuth.
  return named.flatMap((scope) => (typeof scope === 'string' ? scope.split(' ').filter(Boolean) : []));
}

const FLOWS = {
  authorizationCode: 'authorization_code',
  deviceAuthorization: 'device_code',
  clientCredentials: 'client_credentials',
} as const;

function flowOf(flows: SecuritySchemeObject['flows']): [keyof typeof FLOWS, OAuthFlow] | undefined {
  const name = namesOf(FLOWS).find((each) => isRecord(flows?.[each]));
  return name && [name, flows?.[name] as OAuthFlow];
}

function endpointsOf(owner: string, scheme: SecuritySchemeObject): OAuthProviderOptions {
  if (scheme.type === 'openIdConnect') {
    const given = scheme as Partial<OpenIdConnectWithConfig>;
    const { authorizationEndpoint, tokenEndpoint, revocationEndpoint, grantTypesSupported = [] } = given;
    const ofPeople = grantTypesSupported.includes('authorization_code');
    const isOfApp = grantTypesSupported.includes('client_credentials') && !ofPeople;
    const issuer = scheme.openIdConnectUrl?.replace(/\/\.well-known\/openid-configuration$/, '');
    return {
      grant: isOfApp ? 'client_credentials' : 'authorization_code',
      ...defined({ issuer, authorizationEndpoint, tokenEndpoint, revocationEndpoint }),
    };
  }
  const found = flowOf(scheme.flows);
  if (found === undefined) {
    const problem = `expected one of the flows ${namesOf(FLOWS).join(', ')}: OAuth 2.1 has no others`;
    throw new DefinitionError({ owner, field: 'authConfig.authScheme.flows', problem });
  }
  const [name, { authorizationUrl, deviceAuthorizationUrl, tokenUrl: tokenEndpoint }] = found;
  const endpoints = {
    authorizationEndpoint: authorizationUrl,
    deviceAuthorizationEndpoint: deviceAuthorizationUrl,
  };
  return { grant: FLOWS[name], ...defined({ ...endpoints, tokenEndpoint }) };
}

/** A service account of Google's, by its key file. @throws DefinitionError */
export function providerOfServiceAccount(
  owner: string,
  { serviceAccountCredential, scopes, useIdToken, audience }: NonNullable<AuthCredential['serviceAccount']>,
): OAuthProvider {
  const { clientEmail, privateKey, tokenUri } = Object(serviceAccountCredential);
  return resolveProvider(owner, 'authConfig.rawAuthCredential.serviceAccount', {
    grant: 'jwt_bearer',
    tokenEndpoint: tokenUri || 'https://oauth2.googleapis.com/token',
    ...defined({ clientId: clientEmail, privateKey, scopes, audience: useIdToken ? audience : undefined }),
  });
}
