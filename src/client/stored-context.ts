import type { CredentialKeys } from '../credentials/credential-keys.ts';
import type { Store } from '../store/store.ts';
import { StoreNeeded } from './client-errors.ts';

/** Dependencies of operations that need no Temporal. */
export interface StoredContext {
  store: Store | undefined;
  credentialKeys: CredentialKeys | undefined;
}

/** @throws StoreNeeded */
export function storeOf({ store }: Pick<StoredContext, 'store'>, what: string): Store {
  if (store !== undefined) return store;
  throw new StoreNeeded(
    `${what} reads the store: give HoldfastClient the option \`store\`, the one that the workers have`,
  );
}
