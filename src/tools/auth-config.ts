import type { AuthConfig } from '../events/event-actions.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';

/** What events, histories and requests may have of an auth config: the scheme, and the name of the credential. */
export function withoutSecrets({ authScheme, credentialKey }: AuthConfig): AuthConfig {
  return { authScheme: structuredClone(authScheme), credentialKey };
}

/** @throws TypeError */
export function assertCredentialKey(member: string, authConfig: unknown): asserts authConfig is AuthConfig {
  const key = isRecord(authConfig) ? authConfig.credentialKey : undefined;
  if (typeof key === 'string' && key !== '') return;
  throw new TypeError(
    `${member}: authConfig.credentialKey must be a name, got ${key === '' ? "''" : kindOf(key)}`,
  );
}
