const LEVELS = { DEBUG: 0, INFO: 1, WARN: 2, ERROR: 3 } as const;

/** Severities by name, and their names by number. Values: the enum `LogLevel` of `@google/adk` 2.0.0. */
export const LogLevel: typeof LEVELS &
  Readonly<Record<LogLevel, string>> & { readonly [level: number]: string } = {
  ...LEVELS,
  ...{ 0: 'DEBUG', 1: 'INFO', 2: 'WARN', 3: 'ERROR' },
};

export type LogLevel = (typeof LEVELS)[keyof typeof LEVELS];

/** Gets what runners tell. Methods: `Logger` of `@google/adk` 2.0.0. */
export interface Logger {
  log(level: LogLevel, ...args: unknown[]): void;
  debug(...args: unknown[]): void;
  info(...args: unknown[]): void;
  warn(...args: unknown[]): void;
  error(...args: unknown[]): void;
  setLogLevel(level: LogLevel): void;
}

class StandardErrorLogger implements Logger {
  #level: LogLevel = LogLevel.WARN;

  setLogLevel(level: LogLevel): void {
    this.#level = level;
  }

  log(level: LogLevel, ...args: unknown[]): void {
    if (level >= this.#level) process.stderr.write(`holdfast: ${args.join(' ')}\n`);
  }

  debug(...args: unknown[]): void {
    this.log(LogLevel.DEBUG, ...args);
  }

  info(...args: unknown[]): void {
    this.log(LogLevel.INFO, ...args);
  }

  warn(...args: unknown[]): void {
    this.log(LogLevel.WARN, ...args);
  }

  error(...args: unknown[]): void {
    this.log(LogLevel.ERROR, ...args);
  }
}

const ignore = () => undefined;

const NO_LOGGER: Logger = {
  log: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  setLogLevel: ignore,
};

let current: Logger = new StandardErrorLogger();

/** Where runners and their embedded environments tell what goes wrong. By default warnings and errors, on standard error. */
export function getLogger(): Logger {
  return current;
}

/**
 * @param logger null for none.
 * @example
 * setLogger(null);
 */
export function setLogger(logger: Logger | null): void {
  current = logger ?? NO_LOGGER;
}

/** Of the logger that is set. The default one's is `LogLevel.WARN`. */
export function setLogLevel(level: LogLevel): void {
  current.setLogLevel(level);
}
