import * as oauth from 'oauth4webapi';
import { hasCode } from '../contract/error.ts';
import { defined } from '../protocol/json.ts';
import { visibleExcerpt } from '../protocol/visible-text.ts';
import { OAuthFailed, oauthFailed } from './oauth-failed.ts';
import type { OAuthProvider } from './oauth-provider.ts';

/** Characters of a server's error code that are told. */
const LONGEST_CODE = 60;

/** Tokens as a server has given them. */
export interface TokenSet {
  accessToken: string;
  refreshToken?: string;
  idToken?: string;
  /** Seconds; absent where the server says nothing. */
  expiresIn?: number;
  /** Granted scopes; absent where they are those that were asked for. */
  scopes?: string[];
  /** The account of the person who has consented: the `email` or `sub` of the ID token. */
  account?: string;
}

export function tokensOf(answer: oauth.TokenEndpointResponse): TokenSet {
  const {
    access_token: accessToken,
    refresh_token: refreshToken,
    id_token: idToken,
    expires_in: expiresIn,
  } = answer;
  const { sub, email }: { sub?: string; email?: unknown } = oauth.getValidatedIdTokenClaims(answer) ?? {};
  const scopes = answer.scope?.split(/[ ,]+/).filter((scope) => scope !== '');
  const account = typeof email === 'string' && email !== '' ? email : sub;
  return { accessToken, ...defined({ refreshToken, idToken, expiresIn, scopes, account }) };
}

/** Codes of RFC 6749, 8628 and 7591, by what they mean to people. */
const PROBLEMS: Readonly<Record<string, OAuthFailed['problem']>> = {
  authorization_pending: 'pending',
  slow_down: 'pending',
  access_denied: 'denied',
  expired_token: 'expired',
  invalid_grant: 'revoked',
  invalid_client: 'misconfigured',
  unauthorized_client: 'misconfigured',
  unsupported_grant_type: 'misconfigured',
  invalid_scope: 'misconfigured',
  invalid_target: 'misconfigured',
  invalid_redirect_uri: 'misconfigured',
  invalid_client_metadata: 'misconfigured',
  temporarily_unavailable: 'unreachable',
  server_error: 'unreachable',
};

const MEANINGS: Readonly<Record<OAuthFailed['problem'], string>> = {
  pending: 'the person has not consented yet',
  denied: 'consent was denied',
  expired: 'it took too long',
  revoked: 'it does not take the grant any more',
  misconfigured: 'it refuses the app’s client or what that asks for',
  unreachable: 'it can’t answer now',
  invalid: 'its answer is not what the protocol says',
};

/** Says which server it was, and nothing that it has said but a code. */
export function failed(error: unknown, provider: OAuthProvider): OAuthFailed {
  const name = serverName(provider);
  if (error instanceof OAuthFailed) return oauthFailed(error.problem, `${name}: ${error.message}`);
  if (hasCode(error, 'HOLDFAST_FETCH_FAILED')) return oauthFailed('unreachable', `${name}: ${error.message}`);
  if (hasCode(error, 'HOLDFAST_ADDRESS_REFUSED'))
    return oauthFailed(
      'misconfigured',
      `${name}: ${error.message}; hosts that may be asked are listed in \`allow\``,
    );
  if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
    const problem = PROBLEMS[error.error] ?? 'invalid';
    return oauthFailed(
      problem,
      `${name}: ${MEANINGS[problem]} (${visibleExcerpt(error.error, LONGEST_CODE)})`,
    );
  }
  const code = (error as { code?: unknown }).code;
  if (code === oauth.JWT_TIMESTAMP_CHECK)
    return oauthFailed(
      'invalid',
      `${name}: its ID token is not of this time: compare the clocks of both machines`,
    );
  if (code === oauth.RESPONSE_IS_NOT_CONFORM) {
    const { status } = ((error as Error).cause ?? {}) as { status?: number };
    const isPassing = status !== undefined && (status >= 500 || status === 429);
    return oauthFailed(
      isPassing ? 'unreachable' : 'invalid',
      `${name}: ${isPassing ? MEANINGS.unreachable : MEANINGS.invalid} (${status ?? 'no'} status)`,
    );
  }
  if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError) {
    // Its texts are the package's own, of the fields of answers.
    return oauthFailed('invalid', `${name}: ${MEANINGS.invalid}: ${visibleExcerpt(error.message, 200)}`);
  }
  throw error;
}

/** The server in messages. */
export function serverName({ issuer, authorizationEndpoint, tokenEndpoint }: OAuthProvider): string {
  return new URL(issuer ?? authorizationEndpoint ?? tokenEndpoint ?? 'https://unknown').host;
}
