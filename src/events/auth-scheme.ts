/** Endpoints and scopes of one OAuth flow, in OpenAPI 3's words. */
export interface OAuthFlow {
  authorizationUrl?: string;
  deviceAuthorizationUrl?: string;
  tokenUrl?: string;
  refreshUrl?: string;
  /** Descriptions of the scopes by their names. */
  scopes?: Record<string, string>;
}

/** How requests prove for whom they are made, in OpenAPI 3's words. Fields: `OpenAPIV3.SecuritySchemeObject` of `@google/adk` 2.0.0. */
export interface SecuritySchemeObject {
  /** `apiKey`, `http`, `oauth2` or `openIdConnect`. */
  type: string;
  description?: string;
  /** An `apiKey`'s header, query parameter or cookie. */
  name?: string;
  /** The place of an `apiKey`: `header`, `query` or `cookie`. */
  in?: string;
  /** The scheme of `http`: `basic`, `bearer` or another one of HTTP. */
  scheme?: string;
  bearerFormat?: string;
  flows?: {
    implicit?: OAuthFlow;
    password?: OAuthFlow;
    clientCredentials?: OAuthFlow;
    authorizationCode?: OAuthFlow;
    /** OpenAPI 3.2. */
    deviceAuthorization?: OAuthFlow;
  };
  openIdConnectUrl?: string;
  /** Scopes that a tool needs of a provider of its app, where the scheme has no flows. */
  scopes?: string[];
}

/** An OpenID provider whose endpoints are given. Fields: `OpenIdConnectWithConfig` of `@google/adk` 2.0.0. */
export interface OpenIdConnectWithConfig extends SecuritySchemeObject {
  type: 'openIdConnect';
  authorizationEndpoint: string;
  tokenEndpoint: string;
  userinfoEndpoint?: string;
  revocationEndpoint?: string;
  tokenEndpointAuthMethodsSupported?: string[];
  grantTypesSupported?: string[];
}

export type AuthScheme = SecuritySchemeObject | OpenIdConnectWithConfig;

/** Values: `OAuthGrantType` of `@google/adk` 2.0.0. */
export const OAuthGrantType = {
  CLIENT_CREDENTIALS: 'client_credentials',
  AUTHORIZATION_CODE: 'authorization_code',
  IMPLICIT: 'implicit',
  PASSWORD: 'password',
} as const;
export type OAuthGrantType = (typeof OAuthGrantType)[keyof typeof OAuthGrantType];
