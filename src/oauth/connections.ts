import { setTimeout as delay } from 'node:timers/promises';
import type { RemoveCredential } from '../contract/credentials.ts';
import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { CredentialVault, newCredentialRef } from '../credentials/credential-vault.ts';
import { readable, unseal } from '../credentials/seal.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import { defined } from '../protocol/json.ts';
import {
  type CredentialStore,
  PROVIDER,
  type SealedCredential,
} from '../store/credentials/credential-store.ts';
import { OAuthClient, type RegisteredClient } from './oauth-client.ts';
import { OAuthFailed, oauthFailed } from './oauth-failed.ts';
import { hasGiven, type OAuthProvider } from './oauth-provider.ts';

/** A provider as workers keep it, sealed in the store: gateways and clients know no app. */
interface Kept {
  provider: OAuthProvider;
  /** Clients that were registered there, the newest first. */
  clients?: readonly RegisteredClient[];
}

/** Gateways of an app may have so many addresses, each with a client of its own. */
const MOST_CLIENTS = 10;

/** Milliseconds after which credentials that somebody refreshes are looked at again. */
const LEASED = 50;

/** Credentials of users and apps, and their connections to authorization servers. */
export class Connections {
  readonly store: CredentialStore;
  readonly vault: CredentialVault;

  /** @param keys without which nothing can be put or opened. */
  constructor(store: CredentialStore, keys: CredentialKeys | undefined) {
    this.store = store;
    this.vault = new CredentialVault(store, keys);
  }

  /** Keeps what a worker says of a provider; clients that were registered stay. @throws CredentialKeyMissing */
  async keepProvider(app: string, credentialKey: string, provider: OAuthProvider): Promise<void> {
    const kept = await this.#kept(app, credentialKey);
    if (kept !== undefined && canonicalJson(kept.provider) === canonicalJson(provider)) return;
    const clients = kept?.provider.issuer === provider.issuer ? kept?.clients : undefined;
    const names = placeOf(app, credentialKey);
    const place = { ...names, credentialRef: newCredentialRef() };
    const content: Kept = { provider, ...defined({ clients }) };
    await this.store.put({ ...place, authType: PROVIDER, ...this.vault.resealed(place, content) });
  }

  /**
   * A provider without a client of its own has the registered one that is asked for.
   *
   * @throws CredentialKeyMissing
   */
  async findProvider(
    app: string,
    credentialKey: string,
    { clientId, registeredFor }: Partial<RegisteredClient> = {},
  ): Promise<OAuthProvider | undefined> {
    const { provider, clients = [] } = (await this.#kept(app, credentialKey)) ?? {};
    if (provider === undefined || provider.clientId !== undefined) return provider;
    const client = clients.find((each) =>
      clientId === undefined ? each.registeredFor === registeredFor : each.clientId === clientId,
    );
    return { ...provider, ...client };
  }

  /** @throws OAuthFailed where no worker has told of it; CredentialKeyMissing */
  async provider(...named: Parameters<Connections['findProvider']>): Promise<OAuthProvider> {
    const provider = await this.findProvider(...named);
    if (provider !== undefined) return provider;
    const [app, credentialKey] = named;
    throw oauthFailed('misconfigured', `no worker of the app ${app} has told of a provider ${credentialKey}`);
  }

  async addClient(app: string, credentialKey: string, client: RegisteredClient): Promise<void> {
    await this.#changeClients(app, credentialKey, (clients) => [client, ...clients].slice(0, MOST_CLIENTS));
  }

  /** Forgets a client that its server doesn't know any more: another one is registered. @returns whether it was one of those. */
  async forgetClient(app: string, credentialKey: string, clientId: string | undefined): Promise<boolean> {
    const isOther = (client: RegisteredClient) => client.clientId !== clientId;
    return await this.#changeClients(app, credentialKey, (clients) => clients.filter(isOther));
  }

  /** @returns whether there was something to change. */
  async #changeClients(
    app: string,
    credentialKey: string,
    change: (clients: readonly RegisteredClient[]) => readonly RegisteredClient[],
  ): Promise<boolean> {
    for (;;) {
      const row = await this.store.find(placeOf(app, credentialKey));
      const kept = row && this.#opened(row);
      if (row === undefined || kept === undefined) return false;
      const clients = change(kept.clients ?? []);
      if (clients.length === (kept.clients ?? []).length) return false;
      const credential = { ...row, ...this.vault.resealed(row, { ...kept, clients }) };
      if (await this.store.replace({ credential, before: row.sealed })) return true;
    }
  }

  /** Removes a credential. @returns `revoked`: whether the server has taken tokens back before; absent for other credentials. */
  async remove(remove: RemoveCredential): Promise<{ removed: boolean; revoked?: boolean }> {
    const found = await this.store.find(remove);
    const revoked = found?.authType === 'oauth2' ? await this.#revoked(found) : undefined;
    return { removed: await this.store.remove(remove), ...defined({ revoked }) };
  }

  /** Seals with the first key what another one has sealed in an app. @returns how many. @throws CredentialKeyMissing, CredentialUnreadable */
  async reseal(app: string): Promise<number> {
    const keys = this.vault.ownKeys();
    for (let count = 0; ; await delay(LEASED)) {
      const rows = await this.store.sealedOtherwise(app, keys.sealing().id);
      if (rows.length === 0) return count;
      for (const row of rows) {
        const content = unseal(row, keys) as object;
        const credential = { ...row, ...this.vault.resealed(row, content) };
        count += Number(await this.store.replace({ credential, before: row.sealed }));
      }
    }
  }

  async #revoked(found: SealedCredential): Promise<boolean> {
    const tokens = readable(() => this.vault.unsealed(found))?.oauth2 ?? {};
    const token = tokens.refreshToken ?? tokens.accessToken;
    const provider = await this.findProvider(found.app, found.credentialKey, tokens);
    if (provider === undefined || token === undefined || !hasGiven(provider, tokens)) return false;
    try {
      await new OAuthClient(provider).revoke(token);
      return true;
    } catch (error) {
      if (error instanceof OAuthFailed) return false;
      throw error;
    }
  }

  async #kept(app: string, credentialKey: string): Promise<Kept | undefined> {
    const stored = await this.store.find(placeOf(app, credentialKey));
    return stored && this.#opened(stored);
  }

  #opened(row: SealedCredential): Kept | undefined {
    return readable(() => unseal(row, this.vault.ownKeys()) as Kept);
  }
}

function placeOf(app: string, credentialKey: string) {
  return { app, userId: '', credentialKey: `provider:${credentialKey}` };
}
