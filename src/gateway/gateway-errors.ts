/** The gateway was told to listen where other machines reach it, and nothing says by which name they may. */
export class GatewayNotLocal extends Error {
  readonly code = 'HOLDFAST_GATEWAY_NOT_LOCAL';
  override readonly name = 'GatewayNotLocal';
  readonly host: string;

  constructor(host: string) {
    super(
      `the gateway serves this machine only, and doesn't listen on ${host}: listen on 127.0.0.1, localhost or ::1; or say where callers ` +
        'reach it, by HOLDFAST_PUBLIC_URL or `publicUrl` of defineGateway, and give each an API key (holdfast keys create)',
    );
    this.host = host;
  }
}

const REFUSALS = {
  unauthenticated: { status: 401, code: 'HOLDFAST_GATEWAY_UNAUTHENTICATED', message: 'unauthenticated' },
  forbidden: { status: 403, code: 'HOLDFAST_GATEWAY_FORBIDDEN', message: 'forbidden' },
  'bad request': { status: 400, code: 'HOLDFAST_GATEWAY_BAD_REQUEST', message: 'the request is malformed' },
  'no such route': { status: 404, code: 'HOLDFAST_GATEWAY_NO_SUCH_ROUTE', message: 'there is no such path' },
  'no such turn': {
    status: 404,
    code: 'HOLDFAST_GATEWAY_NO_SUCH_TURN',
    message: 'nobody has sent a message of this id to this session',
  },
  'no such session': { status: 404, code: 'HOLDFAST_SESSION_NOT_FOUND', message: 'there is no such session' },
  'method not allowed': {
    status: 405,
    code: 'HOLDFAST_GATEWAY_METHOD_NOT_ALLOWED',
    message: 'this path has no such method',
  },
  'body too large': {
    status: 413,
    code: 'HOLDFAST_GATEWAY_BODY_TOO_LARGE',
    message: 'the body is too large',
  },
  'too many': {
    status: 429,
    code: 'HOLDFAST_GATEWAY_TOO_MANY_REQUESTS',
    message: 'too many requests: wait as long as Retry-After says',
  },
  busy: {
    status: 503,
    code: 'HOLDFAST_GATEWAY_BUSY',
    message: 'the gateway has too much to do, or closes: try again later',
  },
  'webhook not ready': {
    status: 503,
    code: 'HOLDFAST_WEBHOOK_NOT_READY',
    message: 'this webhook cannot be verified now: send it again later',
  },
  'unsupported type': {
    status: 415,
    code: 'HOLDFAST_GATEWAY_UNSUPPORTED_TYPE',
    message: 'send the body as JSON in UTF-8, not compressed, with the header content-type: application/json',
  },
} as const;

export type RefusalKind = keyof typeof REFUSALS;

/** A request that the gateway answers itself, without asking its client. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  readonly code: string;
  readonly status: (typeof REFUSALS)[RefusalKind]['status'];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: RefusalKind,
    message?: string,
    headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(message ?? REFUSALS[kind].message, options);
    this.code = REFUSALS[kind].code;
    this.status = REFUSALS[kind].status;
    this.headers = headers;
  }
}
