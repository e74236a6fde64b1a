import type { AuthConfig } from '../events/event-actions.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';

/** The part of an auth config that events, histories and requests may have: the scheme, and the name of the credential. */
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
