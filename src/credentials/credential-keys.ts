import { variable } from '../environment.ts';
import { isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { InvalidCredentialKeys } from './credential-errors.ts';

/** 32 bytes under a name, which stands beside what it has encrypted. */
export interface CredentialKey {
  id: string;
  bytes: Buffer;
}

/** Keys that credentials are encrypted with. */
export interface CredentialKeys {
  /** The one that encrypts from now on. */
  sealing(): CredentialKey;
  /** Undefined where it isn't there. */
  find(id: string): CredentialKey | undefined;
}

const KEY_BYTES = 32;
/** Characters of a key in base64 without padding. */
const SHORTEST_KEY = 43;
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const FORM =
  'expected JSON `{"<id>": "<base64 of 32 bytes>"}`, or `<id>:<base64>` of each, separated by commas; `openssl rand -base64 32` makes one';

/** Keys in memory, the first of which encrypts; printing them shows nothing. */
export class CredentialKeyRing implements CredentialKeys {
  readonly #keys: ReadonlyMap<string, CredentialKey>;
  readonly #first: CredentialKey;

  /** @throws InvalidCredentialKeys where there is none, or two have one id. */
  constructor(keys: readonly CredentialKey[]) {
    const [first] = keys;
    if (first === undefined) throw new InvalidCredentialKeys(`there is no key: ${FORM}`);
    this.#first = first;
    this.#keys = new Map(keys.map((key) => [key.id, key]));
    if (this.#keys.size < keys.length) throw new InvalidCredentialKeys('two keys have the same id');
  }

  sealing(): CredentialKey {
    return this.#first;
  }

  find(id: string): CredentialKey | undefined {
    return this.#keys.get(id);
  }
}

/**
 * Reads keys from text, as `HOLDFAST_CREDENTIAL_KEYS` has them: JSON `{"<id>": "<base64>"}`, or `<id>:<base64>,…`. The first
 * encrypts, all decrypt: a new key is put in front of the old one.
 *
 * @throws InvalidCredentialKeys saying what is wrong with which key, never quoting one.
 */
export function parseCredentialKeys(text: string): CredentialKeyRing {
  const trimmed = text.trim();
  if (trimmed.startsWith('{')) return ringOf(parsedKeys(trimmed));
  return new CredentialKeyRing(
    trimmed.split(',').map((entry, index) => {
      const at = entry.indexOf(':');
      if (at === -1) throw new InvalidCredentialKeys(`key ${index + 1} has no id: ${FORM}`);
      return keyOf(entry.slice(0, at).trim(), entry.slice(at + 1).trim(), index);
    }),
  );
}

/** Keys as an option has them: text, an object of base64 by id, or what {@link parseCredentialKeys} has made. */
export type GivenCredentialKeys = string | Readonly<Record<string, string>> | CredentialKeys;

/** @throws InvalidCredentialKeys */
export function credentialKeysOf(given: GivenCredentialKeys): CredentialKeys {
  if (typeof given === 'string') return parseCredentialKeys(given);
  if (!isRecord(given)) throw new InvalidCredentialKeys(`got ${kindOf(given)}: ${FORM}`);
  return isKeys(given) ? given : ringOf(given);
}

/** Undefined where `HOLDFAST_CREDENTIAL_KEYS` isn't set. */
export function credentialKeysOfVariables(
  env: Readonly<Record<string, string | undefined>>,
): CredentialKeys | undefined {
  const given = variable('HOLDFAST_CREDENTIAL_KEYS', env);
  if (given === undefined) return undefined;
  try {
    return parseCredentialKeys(given);
  } catch (error) {
    if (!(error instanceof InvalidCredentialKeys)) throw error;
    throw new InvalidCredentialKeys(`HOLDFAST_CREDENTIAL_KEYS: ${error.message}`);
  }
}

function isKeys(given: object): given is CredentialKeys {
  return 'sealing' in given && typeof given.sealing === 'function';
}

function parsedKeys(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    throw new InvalidCredentialKeys(`this is no JSON: ${FORM}`);
  }
}

function ringOf(keys: Readonly<Record<string, unknown>>): CredentialKeyRing {
  return new CredentialKeyRing(
    Object.entries(keys).map(([id, base64], index, { length }) => {
      if (length > 1 && /^\d+$/.test(id)) {
        throw new InvalidCredentialKeys(
          'in an object ids that are numbers have no order: name a key k1, not 1',
        );
      }
      return keyOf(id, base64, index);
    }),
  );
}

function keyOf(id: string, base64: unknown, index: number): CredentialKey {
  if (!KEY_ID.test(id)) {
    throw new InvalidCredentialKeys(
      `the id of key ${index + 1}: expected 1 to 64 letters, digits, dots, hyphens and underscores`,
    );
  }
  const bytes = typeof base64 === 'string' && BASE64.test(base64) ? Buffer.from(base64, 'base64') : undefined;
  if (bytes?.length !== KEY_BYTES) {
    const got = bytes === undefined ? '' : `, got ${bytes.length}`;
    // If the two are mixed up, the key stands in place of its id.
    const name = id.length < SHORTEST_KEY ? id : String(index + 1);
    throw new InvalidCredentialKeys(`key ${name}: expected base64 of ${KEY_BYTES} bytes${got}`);
  }
  return { id, bytes };
}
