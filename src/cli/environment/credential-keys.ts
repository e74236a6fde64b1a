import { type CredentialKeys, credentialKeysOfVariables } from '../../credentials/credential-keys.ts';
import { folderCredentialKeys } from '../../credentials/folder-credential-keys.ts';
import { storeUrl } from './places.ts';

/**
 * What credentials are encrypted with: the keys of `HOLDFAST_CREDENTIAL_KEYS`, else an embedded store's own, which lie in its folder.
 *
 * @throws InvalidCredentialKeys
 */
export function credentialKeysFor(env: NodeJS.ProcessEnv, folder: string): CredentialKeys | undefined {
  return (
    credentialKeysOfVariables(env) ?? (storeUrl(env) === undefined ? folderCredentialKeys(folder) : undefined)
  );
}
