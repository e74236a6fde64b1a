import { z } from 'zod';
import { take } from '../../contract/check.ts';
import { GRANT } from '../../contract/keys.ts';
import { checkOf } from '../../contract/operation.ts';
import { hostOf, safeUrlOf } from '../../net/public-url.ts';
import { isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { assertKnownFields } from '../../schema/known-fields.ts';
import * as option from '../../schema/option-kinds.ts';
import { OptionReader, readGroup } from '../../schema/options.ts';
import { ACCESS_SETTINGS } from './access-settings.ts';
import { ALGORITHMS, ISSUER_FIELDS, ISSUER_SIGN_IN } from './trusted-issuer.ts';

const GRANTS = checkOf(z.array(GRANT));

/** @throws DefinitionError naming the field of `access` that is wrong. */
export function checkAccess(owner: string, access: unknown): void {
  assertKnownFields(owner, access, ACCESS_SETTINGS, { field: 'access' });
  option.flag()(new OptionReader(owner, access, 'access'), 'keys');
  const check = checker(owner);
  const { hosts = [], issuers = [], trustProxy = false, rateLimits = {} } = access;
  const isProxies = typeof trustProxy === 'boolean' || isProxyCount(trustProxy);
  check('access.trustProxy', isProxies, 'expected true, false, or how many proxies');
  checkRates(owner, rateLimits);
  check(
    'access.hosts',
    Array.isArray(hosts) && hosts.every((host) => hostOf(host) !== undefined),
    'expected names like agents.example.com or agents.example.com:8443',
  );
  check('access.issuers', Array.isArray(issuers), 'expected a list');
  const list = issuers as readonly { issuer: unknown }[];
  for (const [index, issuer] of list.entries()) checkIssuer(owner, issuer, `access.issuers[${index}]`);
  const names = list.map(({ issuer }) => issuer);
  check('access.issuers', new Set(names).size === names.length, 'two have the same `issuer`');
}

function isProxyCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= 10;
}

function checkRates(owner: string, rateLimits: unknown): void {
  const field = 'access.rateLimits';
  assertKnownFields(owner, rateLimits, ['principals', 'strangers', 'streams'], { field });
  const check = checker(owner);
  const { streams = 1, ...rates } = rateLimits;
  check(
    `${field}.streams`,
    isPositive(streams) && Number.isSafeInteger(streams),
    'expected a whole number, 1 or more',
  );
  for (const [name, limit] of Object.entries(rates)) {
    if (limit === undefined) continue;
    assertKnownFields(owner, limit, ['perSecond', 'burst'], { field: `${field}.${name}` });
    const { perSecond, burst } = limit;
    check(`${field}.${name}.perSecond`, isPositive(perSecond), 'expected a number above 0');
    check(`${field}.${name}.burst`, isPositive(burst) && burst >= 1, 'expected a number, 1 or more');
  }
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

/** @throws DefinitionError naming what of an issuer is wrong. */
export function checkIssuer(owner: string, issuer: unknown, field: string): void {
  assertKnownFields(owner, issuer, ISSUER_FIELDS, { field });
  const check = checker(owner);
  const { audience, jwksUri, jwks, algorithms, person, userId, grants, signIn } = issuer;
  const isUrl = 'expected a URL of https; of http for this machine only';
  // With keys of its own, and nobody who signs in, it is a name that nobody asks.
  const isNamed = isText(issuer.issuer) && jwks !== undefined && signIn === undefined;
  check(`${field}.issuer`, isNamed || safeUrlOf(issuer.issuer) !== undefined, isUrl);
  const audiences = [audience].flat();
  check(`${field}.audience`, audiences.length > 0 && audiences.every(isText), 'expected whom tokens are for');
  check(`${field}.jwksUri`, jwksUri === undefined || safeUrlOf(jwksUri) !== undefined, isUrl);
  check(`${field}.jwks`, jwks === undefined || jwksUri === undefined, 'goes without `jwksUri`');
  const isSet = isRecord(jwks) && Array.isArray(jwks.keys) && jwks.keys.every(isPublic);
  check(`${field}.jwks`, jwks === undefined || isSet, 'expected { keys: [ … ] } of public keys');
  check(
    `${field}.algorithms`,
    algorithms === undefined || isSome(algorithms, ALGORITHMS),
    `expected some of ${ALGORITHMS.join(', ')}`,
  );
  check(`${field}.person`, isText(person), 'expected the name of a claim');
  check(`${field}.userId`, userId === undefined || isText(userId), 'expected the name of a claim');
  if (signIn !== undefined) readGroup(ISSUER_SIGN_IN, { owner, options: signIn, field: `${field}.signIn` });
  if (typeof grants === 'function') return;
  assertKnownFields(owner, grants, ['claim', 'values', 'everybody'], { field: `${field}.grants` });
  check(`${field}.grants.claim`, isText(grants.claim), 'expected the name of a claim');
  const { values, everybody = [] } = grants;
  const isGrants = 'expected lists of { app, roles, user? }';
  check(`${field}.grants.values`, isRecord(values) && Object.values(values).every(areGrants), isGrants);
  check(`${field}.grants.everybody`, areGrants(everybody), isGrants);
}

function areGrants(value: unknown): boolean {
  return take(GRANTS, value).problem === undefined;
}

function isSome(value: unknown, known: readonly unknown[]): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((each) => known.includes(each));
}

/** A key that anybody may have: a shared secret would let its readers sign. */
function isPublic(key: unknown): boolean {
  return isRecord(key) && isText(key.kty) && key.kty !== 'oct' && key.d === undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function checker(owner: string) {
  return (field: string, isRight: boolean, problem: string): void => {
    if (!isRight) throw new DefinitionError({ owner, field, problem });
  };
}
