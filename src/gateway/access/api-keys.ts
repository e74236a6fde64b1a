import { LRUCache } from 'lru-cache';
import { isSameBytes } from '../../net/signatures.ts';
import type { KeyStore, KnownApiKey } from '../../store/keys/key-store.ts';
import type { Store } from '../../store/store.ts';
import type { GatewayLogger } from '../gateway-logger.ts';
import type { Principal } from './access.ts';
import { BatchedLookups } from './batched-lookups.ts';
import { grantedPrincipal } from './granted-principal.ts';
import { readKeyText } from './key-text.ts';

export interface ApiKeysOptions {
  store: Pick<Store, 'now'> & { keys: Pick<KeyStore, 'find' | 'touch'> };
  logger: Pick<GatewayLogger, 'warn'>;
}

/** How long an answer of the store is trusted, milliseconds: a revocation holds within 5 seconds, everywhere. */
const CACHE_TIME = 4_000;
const MOST_CACHED = 10_000;
/** How often the store is asked for keys that nobody has seen, milliseconds: anybody may make them up. */
const UNSEEN_EVERY = 20;
/** How often the use of a key is noted, milliseconds. */
const NOTED = 60_000;

interface Look {
  /** By the monotonic clock, before the store was asked. */
  at: number;
  row: KnownApiKey;
}

/**
 * API keys of the store, checked from a small cache. Strangers who make up keys crowd nobody out: what they try is kept apart, and keys
 * that were seen are looked up apart from those that weren't.
 */
export class ApiKeys {
  readonly #store: ApiKeysOptions['store'];
  readonly #logger: ApiKeysOptions['logger'];
  readonly #seen = new LRUCache<string, Look>({ max: MOST_CACHED });
  /** The last time that the store had no key of this id. */
  readonly #missing = new LRUCache<string, number>({ max: MOST_CACHED });
  readonly #lookups: BatchedLookups<KnownApiKey>;
  readonly #unseenLookups: BatchedLookups<KnownApiKey>;
  readonly #noted = new LRUCache<string, number>({ max: MOST_CACHED });

  constructor({ store, logger }: ApiKeysOptions) {
    this.#store = store;
    this.#logger = logger;
    const findAll = async (keyIds: readonly string[]) =>
      new Map((await store.keys.find(keyIds)).map((row) => [row.keyId, row]));
    this.#lookups = new BatchedLookups(findAll, 0);
    this.#unseenLookups = new BatchedLookups(findAll, UNSEEN_EVERY);
  }

  /**
   * The owner of a key.
   *
   * @returns undefined for what is no key, or an expired or revoked one.
   * @throws StoreUnavailable
   */
  async authenticate(text: string): Promise<Principal | undefined> {
    const given = readKeyText(text);
    if (given === undefined) return undefined;
    const row = await this.#find(given.keyId);
    if (row === undefined) return undefined;
    const now = await this.#store.now();
    if (!isGood(row, given.digest, now)) return undefined;
    this.#note(row, now);
    return principalOf(row);
  }

  /**
   * The principal of a key that this gateway has checked before.
   *
   * @param digest of its secret.
   * @returns undefined where it is expired or revoked by now, or has another secret.
   * @throws StoreUnavailable
   */
  async principal(keyId: string, digest: Uint8Array): Promise<Principal | undefined> {
    const row = await this.#find(keyId);
    if (row === undefined || !isGood(row, digest, await this.#store.now())) return undefined;
    return principalOf(row);
  }

  async #find(keyId: string): Promise<KnownApiKey | undefined> {
    const now = performance.now();
    const seen = this.#seen.get(keyId);
    if (seen !== undefined && now - seen.at < CACHE_TIME) return seen.row;
    const missing = this.#missing.get(keyId);
    if (missing !== undefined && now - missing < CACHE_TIME) return undefined;
    const row = await (seen === undefined ? this.#unseenLookups : this.#lookups).find(keyId);
    if (row === undefined) {
      this.#seen.delete(keyId);
      this.#missing.set(keyId, now);
    } else this.#seen.set(keyId, { at: now, row });
    return row;
  }

  #note({ keyId, usedAt = 0 }: KnownApiKey, now: number): void {
    if (now - Math.max(usedAt, this.#noted.get(keyId) ?? 0) < NOTED) return;
    this.#noted.set(keyId, now);
    this.#store.keys.touch(keyId).catch((error: unknown) => {
      this.#logger.warn('the use of an API key can’t be noted', { keyId, error });
    });
  }
}

/** @param now by the store's clock, which has set its times. */
function isGood({ expiresAt, revokedAt, ...secrets }: KnownApiKey, given: Uint8Array, now: number): boolean {
  if (revokedAt !== undefined || (expiresAt !== undefined && expiresAt <= now)) return false;
  const { digest, oldDigest, oldUntil = 0 } = secrets;
  return (
    isSameBytes(digest, given) || (oldDigest !== undefined && oldUntil > now && isSameBytes(oldDigest, given))
  );
}

function principalOf({ keyId, name, userId, grants }: KnownApiKey): Principal {
  return grantedPrincipal({
    name: `key:${keyId}`,
    person: name,
    ...(userId === undefined ? {} : { userId }),
    keyId,
    grants,
  });
}
