import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ApiKeyStore, KnownApiKey } from '../../store/store.ts';
import type { Principal } from '../access.ts';
import type { GatewayLogger } from '../gateway-logger.ts';
import { grantedPrincipal } from './granted-principal.ts';
import { readKeyText } from './key-text.ts';

export interface ApiKeysOptions {
  store: Pick<ApiKeyStore, 'findApiKey' | 'touchApiKey'>;
  logger: Pick<GatewayLogger, 'warn'>;
}

/** How long what the store has said is believed, milliseconds: a revocation holds within 5 seconds, everywhere. */
const BELIEVED = 4_000;
const MOST_BELIEVED = 10_000;
/** How often the use of a key is noted, milliseconds. */
const NOTED = 60_000;

interface Look {
  /** By the monotonic clock, when the store was asked. */
  at: number;
  row: Promise<KnownApiKey | undefined>;
}

/** API keys of the store, checked from a small cache. */
export class ApiKeys {
  readonly #store: ApiKeysOptions['store'];
  readonly #logger: ApiKeysOptions['logger'];
  readonly #looks = new LRUCache<string, Look>({ max: MOST_BELIEVED });
  readonly #noted = new LRUCache<string, number>({ max: MOST_BELIEVED });

  constructor({ store, logger }: ApiKeysOptions) {
    this.#store = store;
    this.#logger = logger;
  }

  /**
   * Whose key a text is.
   *
   * @param options.knownOnly asks the store for keys only that it was asked for lately.
   * @returns undefined for what is no key, or an expired or revoked one.
   * @throws StoreUnavailable
   */
  async authenticate(text: string, options: { knownOnly?: boolean } = {}): Promise<Principal | undefined> {
    const given = readKeyText(text);
    if (given === undefined) return undefined;
    const row = await this.#find(given.keyId, options);
    if (row === undefined || !isGood(row)) return undefined;
    const { digest, oldDigest, oldUntil = 0 } = row;
    const isOld = oldDigest !== undefined && oldUntil > Date.now() && isSame(oldDigest, given.digest);
    if (!isSame(digest, given.digest) && !isOld) return undefined;
    this.#note(row);
    return principalOf(row);
  }

  /**
   * Whom a key stands for that was shown before.
   *
   * @returns undefined where it is expired or revoked by now.
   * @throws StoreUnavailable
   */
  async principal(keyId: string): Promise<Principal | undefined> {
    const row = await this.#find(keyId);
    return row !== undefined && isGood(row) ? principalOf(row) : undefined;
  }

  async #find(
    keyId: string,
    { knownOnly = false }: { knownOnly?: boolean } = {},
  ): Promise<KnownApiKey | undefined> {
    const now = performance.now();
    const known = this.#looks.get(keyId);
    if (known !== undefined && now - known.at < BELIEVED) return await known.row;
    if (knownOnly && known === undefined) return undefined;
    const look = { at: now, row: this.#store.findApiKey(keyId) };
    this.#looks.set(keyId, look);
    try {
      return await look.row;
    } catch (error) {
      if (this.#looks.peek(keyId) === look) this.#looks.delete(keyId);
      throw error;
    }
  }

  #note({ keyId, usedAt = 0 }: KnownApiKey): void {
    const now = Date.now();
    if (now - Math.max(usedAt, this.#noted.get(keyId) ?? 0) < NOTED) return;
    this.#noted.set(keyId, now);
    this.#store.touchApiKey(keyId).catch((error: unknown) => {
      this.#logger.warn('the use of an API key can’t be noted', { keyId, error });
    });
  }
}

function isGood({ expiresAt, revokedAt }: KnownApiKey): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > Date.now());
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

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
