import type { HoldfastLogger } from '../activities/logging.ts';

/** A logger that throws must not fail a turn: the first time it does, the process gets a warning. */
export function unfailing(logger: HoldfastLogger): HoldfastLogger {
  let warned = false;
  const to =
    (level: keyof HoldfastLogger): HoldfastLogger[typeof level] =>
    (message, attributes) => {
      try {
        logger[level](message, attributes);
      } catch (error) {
        if (!warned)
          process.emitWarning(error instanceof Error ? error : 'the logger of a worker has thrown');
        warned = true;
      }
    };
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
}
