import type { HoldfastLogger } from '../../../activities/logging.ts';

/** Without a folder there is no file for the operator; the terminal gets a line. */
export function lineLogger(onLine: (line: string) => void): HoldfastLogger {
  const told = (message: string) => onLine(message);
  const untold = () => undefined;
  return { debug: untold, info: untold, warn: told, error: told };
}
