import { codedError } from '../contract/error.ts';

/**
 * Why a server gave no token. `pending`: the person has not answered yet. `denied`: the person said no. `expired`: it took too long. `revoked`: the server takes the grant no
 * longer. `misconfigured`: the app's client or its endpoints are wrong. `unreachable`: it may go well later. `invalid`: its answer, or
 * the person's way back, is not what the protocol says.
 */
export type OAuthProblem =
  | 'pending'
  | 'denied'
  | 'expired'
  | 'revoked'
  | 'misconfigured'
  | 'unreachable'
  | 'invalid';

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
