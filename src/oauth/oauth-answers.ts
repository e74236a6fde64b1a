import * as oauth from 'oauth4webapi';
import { hasCode } from '../contract/error.ts';
import { defined } from '../protocol/json.ts';
import { visibleExcerpt } from '../protocol/visible-text.ts';
import { OAuthFailed, type OAuthProblem, oauthFailed } from './oauth-failed.ts';
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

/** The meaning of problems to people, and codes of RFC 6749, 8628 and 7591 that tell of them. */
const PROBLEMS: Readonly<Record<OAuthProblem, { says: string; codes: readonly string[] }>> = {
  pending: { says: 'the person has not consented yet', codes: ['authorization_pending', 'slow_down'] },
  denied: { says: 'consent was denied', codes: ['access_denied'] },
  expired: { says: 'it took too long', codes: ['expired_token'] },
  revoked: { says: 'it does not take the grant any more', codes: ['invalid_grant'] },
  misconfigured: {
    says: 'it refuses the app’s client or what that asks for',
    codes: [
      ...[
        'invalid_client',
        'unauthorized_client',
        'unsupported_grant_type',
        'invalid_scope',
        'invalid_target',
      ],
      ...['invalid_redirect_uri', 'invalid_client_metadata'],
    ],
  },
  unreachable: { says: 'it can’t answer now', codes: ['temporarily_unavailable', 'server_error'] },
  invalid: { says: 'its answer is not what the protocol says', codes: [] },
};

function problemOf(code: string): OAuthProblem {
  const found = Object.entries(PROBLEMS).find(([, { codes }]) => codes.includes(code));
  return (found?.[0] as OAuthProblem | undefined) ?? 'invalid';
}

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
    const problem = problemOf(error.error);
    return oauthFailed(
      problem,
      `${name}: ${PROBLEMS[problem].says} (${visibleExcerpt(error.error, LONGEST_CODE)})`,
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
      `${name}: ${isPassing ? PROBLEMS.unreachable.says : PROBLEMS.invalid.says} (${status ?? 'no'} status)`,
    );
  }
  if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError) {
    // Its texts are the package's own, of the fields of answers.
    return oauthFailed('invalid', `${name}: ${PROBLEMS.invalid.says}: ${visibleExcerpt(error.message, 200)}`);
  }
  throw error;
}

/** The server in messages. */
export function serverName({ issuer, authorizationEndpoint, tokenEndpoint }: OAuthProvider): string {
  return new URL(issuer ?? authorizationEndpoint ?? tokenEndpoint ?? 'https://unknown').host;
}
