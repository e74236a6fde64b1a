/** An issuer doesn't say which keys it signs with, so that nobody knows whether its tokens are good. */
export class IssuerUnreachable extends Error {
  readonly code = 'HOLDFAST_ISSUER_UNREACHABLE';
  override readonly name = 'IssuerUnreachable';

  constructor(issuer: string, problem: string, options?: ErrorOptions) {
    super(`the keys of the issuer ${issuer} are not to be had: ${problem}`, options);
  }
}
