import * as oauth from 'oauth4webapi';
import { codedError, hasCode } from '../contract/error.ts';
import { visibleExcerpt } from '../protocol/visible-text.ts';
import type { OAuthProvider } from './oauth-provider.ts';

/** Why a server gave no token, in words for people. */
const PROBLEMS = {
  pending: 'the person has not consented yet',
  denied: 'consent was denied',
  expired: 'it took too long',
  revoked: 'it does not take the grant any more',
  /** The app's client or its endpoints are wrong. */
  misconfigured: 'it refuses the app’s client or what that asks for',
  /** It may go well later. */
  unreachable: 'it can’t answer now',
  /** Its answer, or the person's way back. */
  invalid: 'its answer is not what the protocol says',
} as const;

export type OAuthProblem = keyof typeof PROBLEMS;

/** Codes of RFC 6749, 7591, 8628 and 8707 that tell of them. */
const CODES: Partial<Record<OAuthProblem, RegExp>> = {
  pending: /^(authorization_pending|slow_down)$/,
  denied: /^access_denied$/,
  expired: /^expired_token$/,
  revoked: /^invalid_grant$/,
  misconfigured:
    /^(invalid_(client|scope|target|redirect_uri|client_metadata)|unauthorized_client|unsupported_grant_type)$/,
  unreachable: /^(temporarily_unavailable|server_error)$/,
};

/** An authorization server gave no token. The text quotes no secret and nothing that the server has said but its error code. */
export class OAuthFailed extends codedError('HOLDFAST_OAUTH_FAILED') {
  declare readonly details?: { problem?: OAuthProblem };

  get problem(): OAuthProblem {
    return this.details?.problem ?? 'invalid';
  }
}

export function oauthFailed(problem: OAuthProblem, message: string): OAuthFailed {
  return new OAuthFailed(message, { details: { problem }, retryable: problem === 'unreachable' });
}

/** Says which server it was. */
export function failed(error: unknown, provider: OAuthProvider): OAuthFailed {
  const told = (problem: OAuthProblem, text: string) =>
    oauthFailed(problem, `${serverName(provider)}: ${text}`);
  if (error instanceof OAuthFailed) return told(error.problem, error.message);
  if (hasCode(error, 'HOLDFAST_FETCH_FAILED')) return told('unreachable', error.message);
  if (hasCode(error, 'HOLDFAST_ADDRESS_REFUSED'))
    return told('misconfigured', `${error.message}; hosts that may be asked are listed in \`allow\``);
  if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
    const problem = problemOf(error.error);
    // Anything else may be a secret that the server repeats.
    const code = /^[a-z]+(_[a-z]+){0,5}$/.test(error.error) ? error.error.slice(0, 60) : 'an unknown code';
    return told(problem, `${PROBLEMS[problem]} (${code})`);
  }
  // Servers may refuse a client by a header alone.
  if (error instanceof oauth.WWWAuthenticateChallengeError)
    return told('misconfigured', `${PROBLEMS.misconfigured} (status ${error.status})`);
  if (!(error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError))
    throw error;
  if (error.code === oauth.JWT_TIMESTAMP_CHECK)
    return told('invalid', 'its ID token is not of this time: compare the clocks of both machines');
  if (error.code === oauth.RESPONSE_IS_NOT_CONFORM) {
    const { status = 0 } = Object(error.cause) as { status?: number };
    const problem = status >= 500 || status === 429 ? 'unreachable' : 'invalid';
    return told(problem, `${PROBLEMS[problem]} (status ${status})`);
  }
  // Its texts are the package's own, of the fields of answers.
  return told('invalid', `${PROBLEMS.invalid}: ${visibleExcerpt(error.message, 200)}`);
}

function problemOf(code: string): OAuthProblem {
  const found = Object.entries(CODES).find(([, codes]) => codes.test(code));
  return (found?.[0] as OAuthProblem | undefined) ?? 'invalid';
}

/** The server in messages. */
export function serverName({ issuer, authorizationEndpoint, tokenEndpoint }: OAuthProvider): string {
  return new URL(issuer ?? authorizationEndpoint ?? tokenEndpoint ?? 'https://unknown').host;
}
