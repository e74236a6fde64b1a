import { LONGEST_SECRET } from '../contract/credentials.ts';
import type { AuthCredential, HttpAuth, OAuth2Auth, ServiceAccount } from '../events/auth-credential.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { invalidCredential } from './credential-errors.ts';

/**
 * Reads a credential in ADK's form: an API key, `bearer` or `basic` of HTTP, tokens, or the key of a service account.
 *
 * @throws InvalidCredential naming the field and what it should be, never the value.
 */
export function readAuthCredential(value: unknown): AuthCredential {
  const credential = recordAt('credential', value);
  const { authType } = credential;
  if (authType === 'apiKey') {
    onlyFields('', credential, ['authType', 'apiKey']);
    return { authType, apiKey: secretAt('apiKey', credential.apiKey) };
  }
  if (authType === 'http') {
    onlyFields('', credential, ['authType', 'http']);
    return { authType, http: readHttp(recordAt('http', credential.http)) };
  }
  if (authType === 'oauth2' || authType === 'openIdConnect') {
    onlyFields('', credential, ['authType', 'oauth2']);
    return { authType, oauth2: readTokens(recordAt('oauth2', credential.oauth2)) };
  }
  if (authType === 'serviceAccount') {
    onlyFields('', credential, ['authType', 'serviceAccount']);
    return {
      authType,
      serviceAccount: readServiceAccount(recordAt('serviceAccount', credential.serviceAccount)),
    };
  }
  const kinds = "'apiKey', 'http', 'oauth2', 'openIdConnect' or 'serviceAccount'";
  const got = typeof authType === 'string' ? 'another string' : kindOf(authType);
  throw invalidCredential('authType', `expected ${kinds}, got ${got}`);
}

const KEPT = ['accessToken', 'refreshToken', 'idToken', 'clientId', 'issuer', 'subject'] as const;
/** Fields of the flow that is over, its secrets among them: they are left out. */
const OF_FLOW = [
  ...['clientSecret', 'authUri', 'nonce', 'codeVerifier', 'authResponseUri', 'authCode', 'state'],
  ...['redirectUri', 'audience', 'tokenEndpointAuthMethod', 'expiresIn'],
];

/** Tokens, and where they come from. */
export interface KeptTokens extends OAuth2Auth {
  /** The server that has given them. */
  issuer?: string;
  /** The account of the person who has consented: the `sub` of the ID token. */
  subject?: string;
}

function readTokens(tokens: Record<string, unknown>): KeptTokens {
  onlyFields('oauth2', tokens, [...KEPT, ...OF_FLOW, 'expiresAt']);
  const { expiresAt } = tokens;
  if (expiresAt !== undefined && !(Number.isFinite(expiresAt) && Number(expiresAt) > 0))
    throw invalidCredential('oauth2.expiresAt', 'expected milliseconds since the epoch');
  const given = KEPT.filter((name) => name === 'accessToken' || tokens[name] !== undefined);
  const texts = given.map((name) => [name, secretAt(`oauth2.${name}`, tokens[name])]);
  return { ...Object.fromEntries(texts), ...defined({ expiresAt }) };
}

/** A key file of Google's, of which the account, its key and the address of tokens count. */
function readServiceAccount({ scopes = [], ...given }: Record<string, unknown>): ServiceAccount {
  const place = 'serviceAccount.serviceAccountCredential';
  const file = recordAt(place, given.serviceAccountCredential);
  secretAt(`${place}.clientEmail`, file.clientEmail);
  // A key in PEM has lines.
  if (typeof file.privateKey !== 'string' || file.privateKey.length > LONGEST_SECRET)
    throw invalidCredential(`${place}.privateKey`, `expected a text of at most ${LONGEST_SECRET} characters`);
  if (!Array.isArray(scopes) || scopes.some((scope) => typeof scope !== 'string'))
    throw invalidCredential('serviceAccount.scopes', 'expected a list of texts');
  return { ...given, scopes } as ServiceAccount;
}

function readHttp(http: Record<string, unknown>): HttpAuth {
  onlyFields('http', http, ['scheme', 'credentials']);
  const scheme = typeof http.scheme === 'string' ? http.scheme.toLowerCase() : undefined;
  const credentials = recordAt('http.credentials', http.credentials);
  if (scheme === 'bearer') {
    onlyFields('http.credentials', credentials, ['token']);
    return { scheme, credentials: { token: secretAt('http.credentials.token', credentials.token) } };
  }
  if (scheme === 'basic') {
    onlyFields('http.credentials', credentials, ['username', 'password']);
    const username = secretAt('http.credentials.username', credentials.username);
    if (username.includes(':')) {
      throw invalidCredential('http.credentials.username', 'a user name of HTTP has no colon');
    }
    const password = secretAt('http.credentials.password', credentials.password);
    return { scheme, credentials: { username, password } };
  }
  const got = scheme === undefined ? kindOf(http.scheme) : 'another string';
  throw invalidCredential('http.scheme', `expected 'bearer' or 'basic', got ${got}`);
}

function recordAt(field: string, value: unknown): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw invalidCredential(field, `expected an object, got ${kindOf(value)}`);
}

/** A field that nobody reads may be where a secret was mistyped: it is named only where its name is one of ADK's. */
function onlyFields(place: string, record: Record<string, unknown>, known: readonly string[]): void {
  for (const [name, value] of Object.entries(record)) {
    if (known.includes(name) || value === undefined) continue;
    const problem = `expected ${known.join(', ')} only`;
    throw invalidCredential(place === '' ? 'credential' : place, problem);
  }
}

function secretAt(field: string, value: unknown): string {
  if (typeof value !== 'string') {
    throw invalidCredential(field, `expected a string, got ${kindOf(value)}`);
  }
  if (value === '') throw invalidCredential(field, 'is empty');
  if (value.length > LONGEST_SECRET) {
    throw invalidCredential(field, `is longer than ${LONGEST_SECRET} characters`);
  }
  if (/\p{Cc}/u.test(value)) {
    throw invalidCredential(field, 'has control characters, a line break for one, which no header can hold');
  }
  if (!value.isWellFormed()) throw invalidCredential(field, 'is no well-formed Unicode');
  return value;
}
