/** The gateway has answered with an error that is no class of the client's. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  /** As the gateway gave it. */
  readonly code: string;
  /** Of the HTTP answer; 0 where an event of a stream told it. */
  readonly status: number;

  constructor(message: string, { code, status }: { code: string; status: number }) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** The gateway can't be reached, or something that is no gateway answers in its place. */
export class GatewayUnreachable extends Error {
  readonly code = 'HOLDFAST_GATEWAY_UNREACHABLE';
  override readonly name = 'GatewayUnreachable';
  readonly url: string;

  constructor(url: string, reason: string, options?: ErrorOptions) {
    super(`the gateway at ${url} ${reason}`, options);
    this.url = url;
  }
}
