import { codedError } from '../../contract/error.ts';
/** An issuer doesn't say which keys it signs with, so that nobody knows whether its tokens are good. */
export class IssuerUnreachable extends codedError('HOLDFAST_ISSUER_UNREACHABLE') {
  constructor(issuer: string, problem: string, options?: ErrorOptions) {
    super(`the keys of the issuer ${issuer} are not to be had: ${problem}`, options);
  }
}
