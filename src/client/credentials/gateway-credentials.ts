import type { StoredCredential } from '../../store/credentials/credential-store.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import { credentialsPath } from '../gateway-paths.ts';
import type { Credentials, PutCredential } from './credentials.ts';

/** `credentials` of a `GatewayClient`: as those of `HoldfastClient`. The gateway encrypts what it is given. */
export class GatewayCredentials implements Credentials {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  /** @throws InvalidTurn */
  async put({ app, userId, credentialKey, credential, label }: PutCredential): Promise<StoredCredential> {
    const path = credentialsPath({ app, userId }, 'credentials.put');
    const body = { credentialKey, credential, label };
    return await this.#connection.ask<StoredCredential>(path, { method: 'POST', body });
  }

  /** @throws InvalidTurn */
  async list({ app, userId }: { app: string; userId?: string }): Promise<StoredCredential[]> {
    const path = credentialsPath(userId === undefined ? { app } : { app, userId }, 'credentials.list');
    return (await this.#connection.ask<{ credentials: StoredCredential[] }>(path)).credentials;
  }

  /** @throws InvalidTurn */
  async remove(remove: { app: string; userId: string; credentialRef: string }): Promise<boolean> {
    const path = credentialsPath(remove, 'credentials.remove');
    const { removed } = await this.#connection.ask<{ removed: boolean }>(path, { method: 'DELETE' });
    return removed;
  }
}
