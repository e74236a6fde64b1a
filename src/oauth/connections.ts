import { setTimeout as delay } from 'node:timers/promises';
import type { RemoveCredential } from '../contract/credentials.ts';
import type { KeptTokens } from '../credentials/auth-credential.ts';
import { CredentialUnreadable } from '../credentials/credential-errors.ts';
import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { CredentialVault, newCredentialRef } from '../credentials/credential-vault.ts';
import { unseal } from '../credentials/seal.ts';
import type { AuthCredential } from '../events/auth-credential.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import { defined } from '../protocol/json.ts';
import {
  type CredentialStore,
  type FoundCredential,
  PROVIDER,
} from '../store/credentials/credential-store.ts';
import { OAuthClient, type RegisteredClient } from './oauth-client.ts';
import { OAuthFailed } from './oauth-failed.ts';
import { type OAuthProvider, partiesOf } from './oauth-provider.ts';

/** A provider as workers keep it, sealed in the store: gateways and clients know no app. */
interface Kept {
  provider: OAuthProvider;
  /** The client that was registered there last. */
  client?: RegisteredClient;
}

/** Milliseconds after which credentials that somebody refreshes are looked at again. */
const LEASED = 50;

/** Credentials of users and apps, and their connections to authorization servers. */
export class Connections {
  readonly store: CredentialStore;
  readonly vault: CredentialVault;
  /** Refreshes of this process by the references of their tokens: its other calls wait for them. */
  readonly refreshing = new Map<string, Promise<AuthCredential | undefined>>();

  /** @param keys without which nothing can be put or opened. */
  constructor(store: CredentialStore, keys: CredentialKeys | undefined) {
    this.store = store;
    this.vault = new CredentialVault(store, keys);
  }

  /** Keeps what a worker says of a provider; clients that were registered stay. @throws CredentialKeyMissing */
  async keepProvider(app: string, credentialKey: string, provider: OAuthProvider): Promise<void> {
    const kept = await this.#kept(app, credentialKey);
    if (kept !== undefined && canonicalJson(kept.provider) === canonicalJson(provider)) return;
    const client = kept?.provider.issuer === provider.issuer ? kept?.client : undefined;
    await this.#keep(app, credentialKey, { provider, ...defined({ client }) });
  }

  /** With the client that was registered there if it has none of its own. @throws CredentialKeyMissing, CredentialUnreadable */
  async findProvider(
    app: string,
    credentialKey: string,
  ): Promise<(OAuthProvider & { registeredFor?: string }) | undefined> {
    const { provider, client } = (await this.#kept(app, credentialKey)) ?? {};
    return provider && { ...provider, ...(provider.clientId === undefined ? client : {}) };
  }

  async addClient(app: string, credentialKey: string, client: RegisteredClient): Promise<void> {
    const kept = await this.#kept(app, credentialKey);
    if (kept !== undefined) await this.#keep(app, credentialKey, { ...kept, client });
  }

  /** Removes a credential. @returns `revoked`: whether the server has taken tokens back before; absent for other credentials. */
  async remove(remove: RemoveCredential): Promise<{ removed: boolean; revoked?: boolean }> {
    const found = await this.store.find(remove);
    const revoked = found?.authType === 'oauth2' ? await this.#revoked(found) : undefined;
    return { removed: await this.vault.remove(remove), ...defined({ revoked }) };
  }

  /** Seals with the first key what another one has sealed in an app. @returns how many. @throws CredentialKeyMissing, CredentialUnreadable */
  async reseal(app: string): Promise<number> {
    const keys = this.vault.ownKeys();
    for (let count = 0; ; await delay(LEASED)) {
      const rows = await this.store.sealedOtherwise(app, keys.sealing().id);
      if (rows.length === 0) return count;
      for (const row of rows) {
        const content = unseal(row, keys, (read) => Object(read) as object);
        const credential = { ...row, ...this.vault.resealed(row, content) };
        count += Number(await this.store.replace({ credential, before: row.sealed }));
      }
    }
  }

  async #revoked(found: FoundCredential): Promise<boolean> {
    const { clientId, issuer, refreshToken, accessToken }: KeptTokens =
      readable(() => this.vault.unsealed(found))?.oauth2 ?? {};
    const token = refreshToken ?? accessToken;
    const provider = await this.findProvider(found.app, found.credentialKey);
    if (provider === undefined || token === undefined) return false;
    const parties = partiesOf(provider);
    if (clientId !== undefined && parties.clientId !== clientId) return false;
    if (issuer !== undefined && parties.issuer !== issuer) return false;
    try {
      return await new OAuthClient(provider).revoke(token);
    } catch (error) {
      if (error instanceof OAuthFailed) return false;
      throw error;
    }
  }

  async #kept(app: string, credentialKey: string): Promise<Kept | undefined> {
    const stored = await this.store.find({ app, userId: '', credentialKey: `provider:${credentialKey}` });
    return stored && readable(() => unseal(stored, this.vault.ownKeys(), (content) => content as Kept));
  }

  async #keep(app: string, credentialKey: string, kept: Kept): Promise<void> {
    const names = { app, userId: '', credentialKey: `provider:${credentialKey}` };
    const place = { ...names, credentialRef: newCredentialRef() };
    await this.store.put({ ...place, authType: PROVIDER, ...this.vault.resealed(place, kept) });
  }
}

/** Undefined for what was sealed with a key that is lost: it can be removed, and written anew. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof CredentialUnreadable) return undefined;
    throw error;
  }
}
