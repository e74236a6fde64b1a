import { codedError, HoldfastError } from '../contract/error.ts';
import { type ErrorCode, entryOf } from '../contract/error-codes.ts';

/** The gateway was told to listen where other machines reach it, and nothing says by which name they may. */
export class GatewayNotLocal extends codedError('HOLDFAST_GATEWAY_NOT_LOCAL') {
  readonly host: string;

  constructor(host: string) {
    super(
      `the gateway serves this machine only, and doesn't listen on ${host}: listen on 127.0.0.1, localhost or ::1; or say where callers ` +
        'reach it, by HOLDFAST_PUBLIC_URL or `publicUrl` of defineGateway, and give each an API key (holdfast keys create)',
    );
    this.host = host;
  }
}

/** A request that the gateway answers itself, without asking its client. */
export class RequestRefused extends HoldfastError {
  override readonly name = 'RequestRefused';
  readonly headers: Readonly<Record<string, string>>;

  /** @param message by default what callers are told of the code. */
  constructor(
    code: ErrorCode,
    message?: string,
    headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(code, message ?? entryOf(code)?.told ?? code, options);
    this.headers = headers;
  }
}
