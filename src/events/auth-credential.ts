/** Kinds of credentials. Values: `AuthCredentialTypes` of `@google/adk` 2.0.0. */
export const AuthCredentialTypes = {
  API_KEY: 'apiKey',
  HTTP: 'http',
  OAUTH2: 'oauth2',
  OPEN_ID_CONNECT: 'openIdConnect',
  SERVICE_ACCOUNT: 'serviceAccount',
} as const;

export type AuthCredentialTypes = (typeof AuthCredentialTypes)[keyof typeof AuthCredentialTypes];

/** The secret of HTTP authentication. */
export interface HttpCredentials {
  username?: string;
  password?: string;
  token?: string;
}

export interface HttpAuth {
  /** Scheme of the header `Authorization`: `basic`, `bearer`, … */
  scheme: string;
  credentials: HttpCredentials;
  additionalHeaders?: Record<string, string>;
}

export interface OAuth2Auth {
  clientId?: string;
  clientSecret?: string;
  authUri?: string;
  nonce?: string;
  state?: string;
  codeVerifier?: string;
  redirectUri?: string;
  authResponseUri?: string;
  authCode?: string;
  accessToken?: string;
  refreshToken?: string;
  idToken?: string;
  expiresAt?: number;
  expiresIn?: number;
  audience?: string;
  tokenEndpointAuthMethod?: string;
}

/** A key file of a Google service account. */
export interface ServiceAccountCredential {
  type: 'service_account';
  projectId: string;
  privateKeyId: string;
  privateKey: string;
  clientEmail: string;
  clientId: string;
  authUri: string;
  tokenUri: string;
  authProviderX509CertUrl: string;
  clientX509CertUrl: string;
  universeDomain: string;
}

export interface ServiceAccount {
  serviceAccountCredential?: ServiceAccountCredential;
  scopes?: string[];
  useDefaultCredential?: boolean;
  useIdToken?: boolean;
  audience?: string;
}

/**
 * A secret by which a tool proves who it acts for. It is kept encrypted, and is in no event, no history and no log. Fields:
 * `AuthCredential` of `@google/adk` 2.0.0.
 *
 * @example const credential: AuthCredential = { authType: AuthCredentialTypes.API_KEY, apiKey: 'k-1' };
 */
export interface AuthCredential {
  authType: AuthCredentialTypes;
  resourceRef?: string;
  apiKey?: string;
  http?: HttpAuth;
  serviceAccount?: ServiceAccount;
  oauth2?: OAuth2Auth;
}
