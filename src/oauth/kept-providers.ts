import { type CredentialVault, newCredentialRef } from '../credentials/credential-vault.ts';
import { unseal } from '../credentials/seal.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import { isRecord } from '../protocol/json.ts';
import { type CredentialStore, PROVIDER } from '../store/credentials/credential-store.ts';
import type { RegisteredClient } from './oauth-client.ts';
import { type OAuthProvider, withSecrets } from './oauth-provider.ts';

/** A provider as workers keep it: gateways and clients know no app. Clients that were registered there, by the address of the way back. */
interface Kept {
  provider: OAuthProvider;
  registered: Readonly<Record<string, RegisteredClient>>;
}

/** The providers of apps by the key of their tokens, sealed in the store. */
export class KeptProviders {
  readonly #store: CredentialStore;
  readonly #vault: CredentialVault;

  constructor(store: CredentialStore, vault: CredentialVault) {
    this.#store = store;
    this.#vault = vault;
  }

  /** Keeps what a worker says of a provider; clients that were registered stay. @throws CredentialKeyMissing */
  async keep(app: string, credentialKey: string, given: OAuthProvider): Promise<void> {
    const provider = withSecrets(given);
    const kept = await this.#find(app, credentialKey);
    if (kept !== undefined && canonicalJson(kept.provider) === canonicalJson(provider)) return;
    const isSame = kept?.provider.issuer === provider.issuer;
    await this.#put(app, credentialKey, {
      provider,
      registered: (isSame ? kept?.registered : undefined) ?? {},
    });
  }

  /** @throws CredentialKeyMissing, CredentialUnreadable */
  async find(app: string, credentialKey: string): Promise<OAuthProvider | undefined> {
    return (await this.#find(app, credentialKey))?.provider;
  }

  /** The provider with the client by which tokens were got, or with the one of this way back. */
  async withClient(
    app: string,
    credentialKey: string,
    by: { clientId: string } | { redirectUri: string },
  ): Promise<OAuthProvider | undefined> {
    const kept = await this.#find(app, credentialKey);
    if (kept === undefined || kept.provider.clientId !== undefined) return kept?.provider;
    const clients = Object.entries(kept.registered);
    const found = clients.find(([redirectUri, { clientId }]) =>
      'clientId' in by ? clientId === by.clientId : redirectUri === by.redirectUri,
    );
    return { ...kept.provider, ...found?.[1] };
  }

  async addClient(
    app: string,
    credentialKey: string,
    redirectUri: string,
    client: RegisteredClient,
  ): Promise<void> {
    const kept = await this.#find(app, credentialKey);
    if (kept === undefined) return;
    await this.#put(app, credentialKey, {
      ...kept,
      registered: { ...kept.registered, [redirectUri]: client },
    });
  }

  async #find(app: string, credentialKey: string): Promise<Kept | undefined> {
    const stored = await this.#store.find({ app, userId: '', credentialKey: keyOf(credentialKey) });
    return stored && unseal(stored, this.#vault.ownKeys(), keptOf);
  }

  async #put(app: string, credentialKey: string, kept: Kept): Promise<void> {
    const place = { app, userId: '', credentialKey: keyOf(credentialKey), credentialRef: newCredentialRef() };
    await this.#store.put({ ...place, authType: PROVIDER, ...this.#vault.resealed(place, kept) });
  }
}

function keyOf(credentialKey: string): string {
  return `provider:${credentialKey}`;
}

function keptOf(content: unknown): Kept {
  if (isRecord(content) && isRecord(content.provider) && isRecord(content.registered))
    return content as unknown as Kept;
  throw new TypeError('this is no provider');
}
