import type { RemoveCredential } from '../contract/credentials.ts';
import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { CredentialVault } from '../credentials/credential-vault.ts';
import { unseal } from '../credentials/seal.ts';
import type { CredentialStore } from '../store/credentials/credential-store.ts';
import { Consent } from './consent.ts';
import { KeptProviders } from './kept-providers.ts';
import { OAuthClient } from './oauth-client.ts';
import { OAuthFailed } from './oauth-failed.ts';
import { Tokens } from './tokens.ts';

/** Credentials of users and apps, and their connections to authorization servers. */
export class Connections {
  readonly store: CredentialStore;
  readonly vault: CredentialVault;
  readonly providers: KeptProviders;
  readonly tokens: Tokens;
  readonly consent: Consent;

  /** @param keys without which nothing can be put or opened. */
  constructor(store: CredentialStore, keys: CredentialKeys | undefined) {
    this.store = store;
    this.vault = new CredentialVault(store, keys);
    this.providers = new KeptProviders(store, this.vault);
    this.tokens = new Tokens(store, this.vault);
    this.consent = new Consent(store, this.vault, this.providers);
  }

  /**
   * Removes a credential. Tokens are given up at their server first.
   *
   * @returns `revoked`: whether the server has taken them back; absent for a credential that is none of a server's.
   */
  async remove(remove: RemoveCredential): Promise<{ removed: boolean; revoked?: boolean }> {
    const found = await this.store.find(remove);
    const revoked = found?.authType === 'oauth2' ? await this.#revoked(found.app, found) : undefined;
    const removed = await this.vault.remove(remove);
    return { removed, ...(revoked === undefined ? {} : { revoked }) };
  }

  /** Seals with the first key what another one has sealed in an app. @returns how many. @throws CredentialKeyMissing, CredentialUnreadable */
  async reseal(app: string): Promise<number> {
    const keys = this.vault.ownKeys();
    const { id } = keys.sealing();
    for (let count = 0; ; ) {
      const rows = await this.store.sealedOtherwise(app, id);
      if (rows.length === 0) return count;
      for (const row of rows) {
        const content = unseal(row, keys, (read) => Object(read) as object);
        const credential = { ...row, ...this.vault.resealed(row, content) };
        count += Number(await this.store.replace({ credential, before: row.sealed }));
      }
    }
  }

  async #revoked(app: string, found: Parameters<CredentialVault['unsealed']>[0]): Promise<boolean> {
    const { clientId, refreshToken, accessToken } = this.vault.unsealed(found).oauth2 ?? {};
    const token = refreshToken ?? accessToken;
    const provider = await this.providers.find(app, found.credentialKey);
    if (provider === undefined || token === undefined) return false;
    if (clientId !== undefined && provider.clientId !== clientId) return false;
    try {
      return await new OAuthClient(provider).revoke(token);
    } catch (error) {
      if (error instanceof OAuthFailed) return false;
      throw error;
    }
  }
}
