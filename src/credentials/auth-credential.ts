import { LONGEST_SECRET } from '../contract/credentials.ts';
import type { AuthCredential, HttpAuth } from '../events/auth-credential.ts';
import { isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { invalidCredential } from './credential-errors.ts';

const COMING = ['oauth2', 'openIdConnect', 'serviceAccount'];

/**
 * Reads a credential in ADK's form: an API key, or `bearer` or `basic` of HTTP.
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
  const isComing = typeof authType === 'string' && COMING.includes(authType);
  throw invalidCredential(
    'authType',
    isComing
      ? 'this release of Holdfast keeps API keys, bearer tokens and passwords only'
      : `expected 'apiKey' or 'http', got ${typeof authType === 'string' ? 'another string' : kindOf(authType)}`,
  );
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
