import type { GatewayLogger } from './gateway-logger.ts';

/** A logger that throws must not fail a turn or a request, nor end the process: the first time it does, the process gets a warning. */
export function unfailing(logger: GatewayLogger): GatewayLogger {
  let warned = false;
  const to =
    (level: keyof GatewayLogger): GatewayLogger[typeof level] =>
    (message, attributes) => {
      try {
        logger[level](message, attributes);
      } catch (error) {
        if (!warned) process.emitWarning(error instanceof Error ? error : 'a logger has thrown');
        warned = true;
      }
    };
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
}
