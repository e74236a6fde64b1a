import { type CredentialVault, newCredentialRef } from '../credentials/credential-vault.ts';
import { unseal } from '../credentials/seal.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { type CredentialStore, PROVIDER } from '../store/credentials/credential-store.ts';
import type { RegisteredClient } from './oauth-client.ts';
import type { OAuthProvider } from './oauth-provider.ts';

/** A provider as workers keep it: gateways and clients know no app. */
interface Kept {
  provider: OAuthProvider;
  /** The client that was registered there last. */
  client?: RegisteredClient;
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
  async keep(app: string, credentialKey: string, provider: OAuthProvider): Promise<void> {
    const kept = await this.#find(app, credentialKey);
    if (kept !== undefined && canonicalJson(kept.provider) === canonicalJson(provider)) return;
    const client = kept?.provider.issuer === provider.issuer ? kept?.client : undefined;
    await this.#put(app, credentialKey, { provider, ...defined({ client }) });
  }

  /**
   * A provider, with the client that was registered there if it has none of its own.
   *
   * @throws CredentialKeyMissing, CredentialUnreadable
   */
  async find(
    app: string,
    credentialKey: string,
  ): Promise<(OAuthProvider & { registeredFor?: string }) | undefined> {
    const kept = await this.#find(app, credentialKey);
    return (
      kept && (kept.provider.clientId === undefined ? { ...kept.provider, ...kept.client } : kept.provider)
    );
  }

  async addClient(app: string, credentialKey: string, client: RegisteredClient): Promise<void> {
    const kept = await this.#find(app, credentialKey);
    if (kept !== undefined) await this.#put(app, credentialKey, { ...kept, client });
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
  if (isRecord(content) && isRecord(content.provider)) return content as unknown as Kept;
  throw new TypeError('this is no provider');
}
