import type { Database } from './engine/database.ts';
import { CountedClock, type StoreClock } from './engine/store-clock.ts';
import {
  createApiKey,
  findApiKeys,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  touchApiKey,
} from './keys/api-key-rows.ts';
import type { ApiKeyRow, ApiKeyStore, KnownApiKey, NewApiKey } from './keys/api-key-store.ts';
import { listDenials, noteDenials } from './keys/denial-rows.ts';
import type { Denial, DenialStore } from './keys/denial-store.ts';
import type { SessionNames } from './sessions/session-names.ts';
import type { SessionStore } from './sessions/session-store.ts';
import { findClientCalls } from './turns/client-calls.ts';

/** What the store knows of who may use the gateway, and what for. */
export class PostgresAccess
  implements ApiKeyStore, DenialStore, StoreClock, Pick<SessionStore, 'findClientCalls'>
{
  readonly #database: Database;
  readonly #clock: CountedClock;

  constructor(database: Database) {
    this.#database = database;
    this.#clock = new CountedClock(database);
  }

  now(): Promise<number> {
    return this.#clock.now();
  }

  createApiKey(key: NewApiKey): Promise<ApiKeyRow> {
    return createApiKey(this.#database, key);
  }

  findApiKeys(keyIds: readonly string[]): Promise<KnownApiKey[]> {
    return findApiKeys(this.#database, keyIds);
  }

  listApiKeys(): Promise<ApiKeyRow[]> {
    return listApiKeys(this.#database);
  }

  rotateApiKey(rotate: Parameters<ApiKeyStore['rotateApiKey']>[0]): Promise<ApiKeyRow | undefined> {
    return rotateApiKey(this.#database, rotate);
  }

  revokeApiKey(keyId: string): Promise<ApiKeyRow | undefined> {
    return revokeApiKey(this.#database, keyId);
  }

  touchApiKey(keyId: string): Promise<void> {
    return touchApiKey(this.#database, keyId);
  }

  findClientCalls(names: SessionNames): Promise<string[]> {
    return findClientCalls(this.#database, names);
  }

  noteDenials(
    denials: readonly Denial[],
    options?: Parameters<DenialStore['noteDenials']>[1],
  ): Promise<void> {
    return noteDenials(this.#database, denials, options);
  }

  listDenials(list?: Parameters<DenialStore['listDenials']>[0]): Promise<Denial[]> {
    return listDenials(this.#database, list);
  }
}
