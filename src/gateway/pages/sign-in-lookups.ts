import { LRUCache } from 'lru-cache';
import type { KeyStore, SignIn } from '../../store/keys/key-store.ts';
import { BatchedLookups } from '../access/batched-lookups.ts';

/** How often the store is asked for cookies that nobody has seen, milliseconds: anybody may make them up. */
const UNSEEN_EVERY = 20;
const MOST_SEEN = 10_000;

/** Finds who is signed in by a cookie: those that were seen apart from those that weren’t, so that strangers crowd nobody out. */
export class SignInLookups {
  readonly #seen = new LRUCache<string, true>({ max: MOST_SEEN });
  /** Keys of missing rows, which never come to be. */
  readonly #missing = new LRUCache<string, true>({ max: MOST_SEEN });
  readonly #lookups: BatchedLookups<SignIn>;
  readonly #unseenLookups: BatchedLookups<SignIn>;

  constructor(keys: Pick<KeyStore, 'findSignIns'>) {
    const findAll = async (tokens: readonly string[]) => {
      const found = await keys.findSignIns(tokens.map((token) => Buffer.from(token, 'hex')));
      return new Map(found.map((each) => [each.token, each]));
    };
    this.#lookups = new BatchedLookups(findAll, 0);
    this.#unseenLookups = new BatchedLookups(findAll, UNSEEN_EVERY);
  }

  /** @throws StoreUnavailable */
  async find(tokenHash: Buffer): Promise<SignIn | undefined> {
    const token = tokenHash.toString('hex');
    if (this.#missing.has(token)) return undefined;
    const found = await (this.#seen.get(token) ? this.#lookups : this.#unseenLookups).find(token);
    if (found === undefined) this.#seen.delete(token);
    (found === undefined ? this.#missing : this.#seen).set(token, true);
    return found;
  }
}
