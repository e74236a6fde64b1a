/** Where the gateway's lines for its operator go; the shape of Temporal's own logger, and of a worker's. */
export interface GatewayLogger {
  debug(message: string, attributes?: Record<string, unknown>): void;
  info(message: string, attributes?: Record<string, unknown>): void;
  warn(message: string, attributes?: Record<string, unknown>): void;
  error(message: string, attributes?: Record<string, unknown>): void;
}
