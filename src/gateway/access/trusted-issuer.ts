import type { JSONWebKeySet, JWTPayload } from 'jose';
import type { Grant } from '../../contract/keys.ts';
import { OAUTH_PROVIDER } from '../../oauth/oauth-provider.ts';
import * as option from '../../schema/option-kinds.ts';
import type { OptionsFor } from '../../schema/options.ts';

/** Grants by what a claim says: of a text its words, of a list its items. */
export interface GrantsByClaim {
  /** Name of the claim, `groups`; with dots a path, `realm_access.roles`. */
  claim: string;
  /** Grants of each value. */
  values: Readonly<Record<string, readonly Grant[]>>;
  /** Grants of everybody whom the issuer knows. */
  everybody?: readonly Grant[];
}

/** The gateway as a client of an issuer, by which people sign in to the inbox; it needs the workers' credential keys. */
export interface IssuerSignIn {
  /** The client's id at the issuer, with `<publicUrl>/inbox/sign-in/callback` as its redirect URI. */
  clientId: string;
  /** The client's secret. @default a public client */
  clientSecret?: string;
  /** Scopes beside `openid`, by which the ID token has the claims of `person`, `userId` and `grants`. @default profile, email */
  scopes?: readonly string[];
}

export const ISSUER_SIGN_IN = {
  clientId: option.required(OAUTH_PROVIDER.clientId),
  clientSecret: OAUTH_PROVIDER.clientSecret,
  scopes: OAUTH_PROVIDER.scopes,
} satisfies OptionsFor<IssuerSignIn>;

/** Somebody who says who callers are, by signed tokens (JWT): an OpenID Connect provider. */
export interface TrustedIssuer {
  /** Exactly as tokens have it in `iss`; an https URL. */
  issuer: string;
  /** Required audience of tokens, in `aud`; one of several is enough. */
  audience: string | readonly string[];
  /** Where the keys are. Defaults to what `<issuer>/.well-known/openid-configuration` says. */
  jwksUri?: string;
  /** The keys themselves, where they are not asked for. */
  jwks?: JSONWebKeySet;
  /**
   * Accepted signature algorithms; algorithms with which a public key could sign are refused.
   *
   * @default RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA
   */
  algorithms?: readonly string[];
  /**
   * The claim that names the person, as approvers are listed: `email`, which counts unless the issuer says that it isn't verified.
   * A token without it can't decide.
   */
  person: string;
  /** The claim that names the only user in whose name the token may act. A token without it is refused. */
  userId?: string;
  /** Rights of callers. */
  grants: GrantsByClaim | ((claims: JWTPayload) => readonly Grant[] | Promise<readonly Grant[]>);
  /** Has people sign in to the inbox at this issuer. Without it they need an API key. */
  signIn?: IssuerSignIn;
}

/** An issuer at which people may sign in. */
export type SignInIssuer = TrustedIssuer & Required<Pick<TrustedIssuer, 'signIn'>>;
export const canSignIn = (issuer: TrustedIssuer): issuer is SignInIssuer => issuer.signIn !== undefined;

export const ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA'],
];

export const ISSUER_FIELDS: readonly string[] = [
  'issuer',
  'audience',
  'jwksUri',
  'jwks',
  'algorithms',
  'person',
  'userId',
  'grants',
  'signIn',
] satisfies (keyof TrustedIssuer)[];
