import type { CREDENTIALS } from '../../contract/credentials.ts';
import type { Handlers, OperationsOf } from '../../contract/operation.ts';
import { CredentialVault } from '../../credentials/credential-vault.ts';
import { type StoredContext, storeOf } from '../stored-context.ts';

/** Performs what is done to credentials. */
export const credentialHandlers: Handlers<OperationsOf<typeof CREDENTIALS>, StoredContext> = {
  'credentials.put': async (put, context) => await vaultOf(context, 'credentials.put').put(put),
  'credentials.list': async (list, context) => ({
    credentials: await vaultOf(context, 'credentials.list').list(list),
  }),
  'credentials.remove': async (remove, context) => ({
    removed: await vaultOf(context, 'credentials.remove').remove(remove),
  }),
};

function vaultOf(context: StoredContext, what: string): CredentialVault {
  return new CredentialVault(storeOf(context, what).credentials, context.credentialKeys);
}
