import { AuthCredentialTypes } from '../../events/auth-credential.ts';
import { isRecord } from '../../protocol/json.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { didYouMean } from '../../schema/known-fields.ts';
import type { OptionReader } from '../../schema/options.ts';
import { isFieldName } from './serialize-parameters.ts';

/** A wrong field, by its path in the value (`.type`; empty for the value itself), and the reason. */
interface Problem {
  at: string;
  problem: string;
}

const SCHEME_TYPES = ['apiKey', 'http', 'oauth2', 'openIdConnect'];
const CREDENTIAL_TYPES: readonly string[] = Object.values(AuthCredentialTypes);
/** Places of secrets in a credential: any of them will do. */
const SECRETS = [
  'apiKey',
  ...['token', 'username', 'password'].map((field) => `http.credentials.${field}`),
  'oauth2.accessToken',
];

/** @returns undefined for a security scheme by which requests can be authenticated. */
export function schemeProblem(scheme: unknown): Problem | undefined {
  if (!isRecord(scheme)) {
    const wanted = "expected a security scheme of OpenAPI, like { type: 'http', scheme: 'bearer' }";
    return { at: '', problem: `${wanted}, got ${kindOf(scheme)}` };
  }
  const { type, name, in: place, scheme: kind } = scheme;
  if (typeof type !== 'string' || !SCHEME_TYPES.includes(type))
    return { at: '.type', problem: wantedOf(SCHEME_TYPES, type) };
  if (type === 'apiKey') {
    const places = ['query', 'header', 'cookie'];
    if (typeof place !== 'string' || !places.includes(place))
      return { at: '.in', problem: wantedOf(places, place) };
    if (typeof name !== 'string' || !(place === 'query' ? name !== '' : isFieldName(name)))
      return { at: '.name', problem: `expected the name of a ${placeOf(place)}${gotOf(name)}` };
  }
  if (type === 'http' && !(typeof kind === 'string' && isFieldName(kind)))
    return { at: '.scheme', problem: `expected 'bearer', 'basic' or another scheme of HTTP${gotOf(kind)}` };
  return undefined;
}

/** @returns undefined for a credential that has a secret; its fields have the types that they should. */
export function credentialProblem(credential: unknown): Problem | undefined {
  if (!isRecord(credential)) {
    const wanted = "expected a credential, like { authType: 'apiKey', apiKey: '…' }";
    return { at: '', problem: `${wanted}, got ${kindOf(credential)}` };
  }
  const { authType, http, oauth2, serviceAccount } = credential;
  if (typeof authType !== 'string' || !CREDENTIAL_TYPES.includes(authType))
    return { at: '.authType', problem: wantedOf(CREDENTIAL_TYPES, authType) };
  const inner = isRecord(http) ? http.credentials : undefined;
  const objects = { http, oauth2, ...(http === undefined ? {} : { 'http.credentials': inner }) };
  for (const [at, value] of Object.entries(objects)) {
    if (value === undefined && at !== 'http.credentials') continue;
    if (!isRecord(value)) return { at: `.${at}`, problem: `expected an object, got ${kindOf(value)}` };
  }
  for (const at of SECRETS) {
    const value = valueAt(credential, at);
    if (value !== undefined && typeof value !== 'string')
      return { at: `.${at}`, problem: `expected a string, got ${kindOf(value)}` };
  }
  if (serviceAccount !== undefined || (isRecord(oauth2) && typeof oauth2.clientId === 'string'))
    return undefined;
  if (SECRETS.some((at) => (valueAt(credential, at) ?? '') !== '')) return undefined;
  return { at: '', problem: `has no secret: give one of ${SECRETS.join(', ')}` };
}

/** @throws DefinitionError for a scheme and a credential that are to be those of all requests. */
export function assertOwnSecurity(
  read: OptionReader,
  { authScheme, authCredential }: { authScheme?: unknown; authCredential?: unknown },
): void {
  const scheme = authScheme === undefined ? undefined : schemeProblem(authScheme);
  if (scheme !== undefined) read.fail(`authScheme${scheme.at}`, scheme.problem);
  const credential = authCredential === undefined ? undefined : credentialProblem(authCredential);
  if (credential !== undefined) read.fail(`authCredential${credential.at}`, credential.problem);
}

function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), value);
}

function wantedOf(choices: readonly string[], value: unknown): string {
  const wanted = `expected ${choices.map((each) => `'${each}'`).join(' or ')}`;
  return typeof value === 'string' ? wanted + didYouMean(value, choices) : `${wanted}${gotOf(value)}`;
}

function placeOf(place: string): string {
  return place === 'query' ? 'query parameter' : place;
}

/** Says nothing of a text: it may be a secret in the wrong place. */
function gotOf(value: unknown): string {
  if (value === '') return ", got ''";
  return `, got ${typeof value === 'string' ? 'another text' : kindOf(value)}`;
}
