import * as oauth from 'oauth4webapi';
import { codedError, hasCode } from '../contract/error.ts';
import { visibleExcerpt } from '../protocol/visible-text.ts';
import { namesOf } from '../schema/options.ts';
import type { OAuthProvider } from './oauth-provider.ts';

/** Why a server gave no token, in words for people, and its codes of RFC 6749, 7591, 8628 and 8707. */
const PROBLEMS = {
  pending: ['the person has not consented yet', /^(authorization_pending|slow_down)$/],
  denied: ['consent was denied', /^access_denied$/],
  expired: ['it took too long', /^expired_token$/],
  revoked: ['it does not take the grant any more', /^invalid_grant$/],
  unknown_client: ['it does not know the app’s client', /^invalid_client$/],
  /** The app's client may not do this, or its endpoints are wrong. */
  misconfigured: [
    'it refuses what the app’s client asks for',
    /^(invalid_(scope|target|redirect_uri|client_metadata)|unauthorized_client|unsupported_grant_type)$/,
  ],
  /** It may go well later. */
  unreachable: ['it can’t answer now', /^(temporarily_unavailable|server_error)$/],
  /** Its answer, or the person's way back. */
  invalid: ['its answer is not what the protocol says', /^/],
} as const;

export type OAuthProblem = keyof typeof PROBLEMS;

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
    const { error: said } = error;
    const problem = namesOf(PROBLEMS).find((each) => PROBLEMS[each][1].test(said)) ?? 'invalid';
    // Anything else may be a secret that the server repeats.
    const code = /^[a-z]+(_[a-z]+){0,5}$/.test(said) ? said.slice(0, 60) : 'an unknown code';
    return told(problem, `${PROBLEMS[problem][0]} (${code})`);
  }
  // Servers may refuse a client by a header alone.
  if (error instanceof oauth.WWWAuthenticateChallengeError)
    return told('unknown_client', `${PROBLEMS.unknown_client[0]} (status ${error.status})`);
  if (!(error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError))
    throw error;
  if (error.code === oauth.JWT_TIMESTAMP_CHECK)
    return told('invalid', 'its ID token is not of this time: compare the clocks of both machines');
  if (error.code === oauth.RESPONSE_IS_NOT_CONFORM) {
    const { status = 0 } = Object(error.cause) as { status?: number };
    const problem = status >= 500 || status === 429 ? 'unreachable' : 'invalid';
    return told(problem, `${PROBLEMS[problem][0]} (status ${status})`);
  }
  // Its texts are the package's own, of the fields of answers.
  return told('invalid', `${PROBLEMS.invalid[0]}: ${visibleExcerpt(error.message, 200)}`);
}

/** The server in messages. */
export function serverName({ issuer, authorizationEndpoint, tokenEndpoint }: OAuthProvider): string {
  return new URL(issuer ?? authorizationEndpoint ?? tokenEndpoint ?? 'https://unknown').host;
}
