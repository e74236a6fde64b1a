import type { ApprovalRow } from '../contract/requests.ts';
import type { AuthCredential } from '../events/auth-credential.ts';

/** A secret that a person can type. */
export type CredentialType = 'api-key' | 'bearer' | 'basic';

const TYPES: readonly CredentialType[] = ['bearer', 'api-key', 'basic'];

/** The types that fit what a tool asks for: one where its security scheme, in OpenAPI 3's words, says which. */
export function credentialTypesOf({
  authConfig,
}: Pick<ApprovalRow, 'authConfig'>): readonly CredentialType[] {
  const { type, scheme } = Object(authConfig?.authScheme) as Record<string, unknown>;
  if (type === 'apiKey') return ['api-key'];
  const named = TYPES.filter((each) => each === String(scheme).toLowerCase());
  return type === 'http' && named.length > 0 ? named : TYPES;
}

/** In ADK's words. @param username of `basic`. */
export function credentialOf(type: CredentialType, secret: string, username = ''): AuthCredential {
  if (type === 'api-key') return { authType: 'apiKey', apiKey: secret };
  const credentials = type === 'basic' ? { username, password: secret } : { token: secret };
  return { authType: 'http', http: { scheme: type, credentials } };
}
