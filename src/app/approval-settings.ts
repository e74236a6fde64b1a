import { type Issuer, publicHalf, signingAlgorithmOf } from '../approvals/issuer.ts';
import type { Notifier } from '../approvals/notifier.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { type OptionReader, type OptionsFor, type Resolved, readGroup } from '../schema/options.ts';
import { problemOfName } from '../schema/person-name.ts';

/** Rules of the decisions that an app trusts. */
export interface AppApprovalOptions {
  /**
   * Whether plain signals and updates decide where an attestation would be needed otherwise. Every program that may write to the
   * Temporal namespace is an approver then, and all of them count as one person.
   *
   * @default false
   */
  trustTemporal?: boolean;
  /**
   * Issuers whose attestations count: approvers with keys of their own, other gateways.
   *
   * @default nobody
   */
  issuers?: readonly Issuer[];
  /**
   * Whether attestations of a gateway with the worker's own credential keys count, for decisions and messages.
   *
   * @default true
   */
  trustGateway?: boolean;
}

export const APP_APPROVAL = {
  trustTemporal: option.flag(false),
  issuers: option.group(resolveIssuers),
  trustGateway: option.flag(true),
} satisfies OptionsFor<AppApprovalOptions>;

/** {@link AppApprovalOptions} that were checked. */
export interface AppApprovals extends Resolved<typeof APP_APPROVAL> {}

const ISSUER = {
  issuer: (read, name) => nameOf(read.value(name), read, name),
  key: option.group(resolveKey),
  approver: option.custom(nameOf),
  channels: option.custom(channelsOf),
} satisfies OptionsFor<Issuer>;

/** Of JWKs of all kinds: their private halves. */
const PRIVATE_FIELDS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
const COORDINATE = /^[A-Za-z0-9_-]{43}$/;

/** @throws DefinitionError naming the option, and never quoting a key. */
export function resolveApprovals(owner: string, field: string, options: unknown = {}): AppApprovals {
  return readGroup(APP_APPROVAL, { owner, options, field });
}

function resolveIssuers(owner: string, field: string, given: unknown): readonly Issuer[] {
  const issuers = listOf(owner, field, given).map((options, index) =>
    readGroup(ISSUER, { owner, options, field: `${field}[${index}]` }),
  );
  for (const [index, issuer] of issuers.entries()) {
    if (!issuers.slice(0, index).some((other) => isSameKey(issuer, other))) continue;
    const problem =
      'another entry of this issuer has this key, or names its key the same: only one of them would ever be trusted';
    throw new DefinitionError({ owner, field: `${field}[${index}].key`, problem });
  }
  return Object.freeze(issuers);
}

function isSameKey(one: Issuer, other: Issuer): boolean {
  if (one.issuer !== other.issuer) return false;
  const { kid, kty, crv, x, y } = one.key;
  if (kid !== other.key.kid) return false;
  return (
    kid !== undefined ||
    (kty === other.key.kty && crv === other.key.crv && x === other.key.x && y === other.key.y)
  );
}

/** @throws DefinitionError naming the option. */
export function resolveNotifiers(owner: string, field: string, notifiers: unknown): readonly Notifier[] {
  const names = new Set<string>();
  for (const [index, notifier] of listOf(owner, field, notifiers).entries()) {
    const place = `${field}[${index}]`;
    if (!isRecord(notifier) || typeof notifier.notify !== 'function') {
      const wanted = 'expected a notifier: an object with a name and a function notify';
      throw new DefinitionError({ owner, field: place, problem: `${wanted}, got ${kindOf(notifier)}` });
    }
    const { name } = notifier;
    if (typeof name !== 'string' || name === '') {
      throw new DefinitionError({ owner, field: `${place}.name`, problem: 'expected a name' });
    }
    if (names.has(name)) {
      const problem = 'another notifier has this name: each has its own';
      throw new DefinitionError({ owner, field: `${place}.name`, problem });
    }
    names.add(name);
    checkOptional(owner, place, notifier);
  }
  return Object.freeze([...listOf(owner, field, notifiers)] as Notifier[]);
}

function checkOptional(owner: string, place: string, { ended, retryFor }: Record<string, unknown>): void {
  if (ended !== undefined && typeof ended !== 'function') {
    const problem = `expected a function, got ${kindOf(ended)}`;
    throw new DefinitionError({ owner, field: `${place}.ended`, problem });
  }
  if (retryFor === undefined || (Number.isFinite(retryFor) && Number(retryFor) > 0)) return;
  const problem = `expected milliseconds, more than 0${typeof retryFor === 'number' ? '' : `, got ${kindOf(retryFor)}`}`;
  throw new DefinitionError({ owner, field: `${place}.retryFor`, problem });
}

function resolveKey(owner: string, field: string, key: unknown): Issuer['key'] {
  const fail = (problem: string): never => {
    throw new DefinitionError({ owner, field, problem });
  };
  const wanted = `expected a public JWK of Ed25519 (kty: 'OKP') or P-256 (kty: 'EC')`;
  if (!isRecord(key)) return fail(`${wanted}, got ${kindOf(key)}`);
  if (PRIVATE_FIELDS.some((name) => key[name] !== undefined)) {
    return fail(
      'this is a private key: list its public half only, and replace the key, as others may have read it here',
    );
  }
  const { kty, crv, x, y, kid, alg } = key;
  if (typeof kty !== 'string' || typeof crv !== 'string') return fail(wanted);
  const algorithm = signingAlgorithmOf({ kty, crv });
  if (algorithm === undefined) return fail(`${wanted}; others are not taken`);
  const isWhole = isCoordinate(x) && (kty === 'OKP' ? y === undefined : isCoordinate(y));
  if (!isWhole) return fail(`${wanted}, whose coordinates are 32 bytes in base64url`);
  if (kid !== undefined && (typeof kid !== 'string' || kid === ''))
    return fail('kid: expected the name of the key');
  if (alg !== undefined && alg !== algorithm) return fail(`alg: expected '${algorithm}', or leave it out`);
  return Object.freeze({
    ...publicHalf({ kty, crv, x, ...(isCoordinate(y) ? { y } : {}), ...defined({ kid }) }),
    alg: algorithm,
  });
}

function isCoordinate(value: unknown): value is string {
  return typeof value === 'string' && COORDINATE.test(value);
}

function channelsOf(channels: unknown, read: OptionReader, name: string): readonly string[] {
  if (!Array.isArray(channels) || channels.length === 0) {
    return read.fail(name, 'expected a list with at least one channel, or leave it out for all of them');
  }
  return Object.freeze(channels.map((channel, index) => nameOf(channel, read, `${name}[${index}]`)));
}

function nameOf(value: unknown, read: OptionReader, field: string): string {
  const problem = problemOfName(value);
  return problem === undefined ? String(value) : read.fail(field, problem);
}

function listOf(owner: string, field: string, value: unknown = []): unknown[] {
  if (Array.isArray(value)) return value;
  throw new DefinitionError({ owner, field, problem: `expected a list, got ${kindOf(value)}` });
}
