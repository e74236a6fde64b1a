import { CredentialVault } from '../../credentials/credential-vault.ts';
import type { StoredCredential } from '../../store/credentials/credential-store.ts';
import { type ClientContext, storeOf } from '../client-context.ts';
import { checkText } from '../turns/turn-names.ts';
import type { Credentials, PutCredential } from './credentials.ts';

/** `credentials` of a `HoldfastClient`. */
export class ClientCredentials implements Credentials {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** @throws StoreNeeded, InvalidCredential, CredentialKeyMissing, InvalidCredentialKeys, InvalidTurn */
  async put({ app, userId, credentialKey, credential, label }: PutCredential): Promise<StoredCredential> {
    const vault = this.#vault('credentials.put');
    checkText({ app, userId, credentialKey }, 'credentials.put');
    return await vault.put({ app, userId, credentialKey, credential, label });
  }

  /** @throws StoreNeeded, InvalidTurn */
  async list({ app, userId }: { app: string; userId?: string }): Promise<StoredCredential[]> {
    const vault = this.#vault('credentials.list');
    const user = userId === undefined ? {} : { userId };
    checkText({ app, ...user }, 'credentials.list');
    return await vault.list({ app, ...user });
  }

  /** @throws StoreNeeded, InvalidTurn */
  async remove(remove: { app: string; userId: string; credentialRef: string }): Promise<boolean> {
    const vault = this.#vault('credentials.remove');
    const { app, userId, credentialRef } = remove;
    checkText({ app, userId, credentialRef }, 'credentials.remove');
    return await vault.remove({ app, userId, credentialRef });
  }

  #vault(what: string): CredentialVault {
    return new CredentialVault(storeOf(this.#context, what).credentials, this.#context.credentialKeys);
  }
}
