import { inspect } from 'node:util';
import { getLogger } from '../logger.ts';
import { visibleText } from '../protocol/visible-text.ts';

type Write = (message: string, attributes?: Record<string, unknown>) => void;

/** Where plugins write; a worker's logger is one, and so is `console`. */
export interface PluginLogger {
  info: Write;
  warn: Write;
}

const defaultLogger = getLogger();

/**
 * Lines of `message name=value …` for the logger that the program has set (`setLogger`), else on standard error: standard
 * output belongs to the command.
 */
export const LINES: PluginLogger = { info: lines('info'), warn: lines('warn') };

function lines(level: keyof PluginLogger): Write {
  return (message, attributes = {}) => {
    const pairs = Object.entries(attributes).map(([name, value]) => ` ${name}=${shown(value)}`);
    const line = visibleText(`${message}${pairs.join('')}`);
    const logger = getLogger();
    if (logger === defaultLogger) process.stderr.write(`${line}\n`);
    else logger[level](line);
  };
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/-]+$/.test(value)
    ? value
    : inspect(value, { breakLength: Infinity, compact: true, depth: 4 });
}

/** A logger that throws must not fail a turn: the first time it does, the process gets a warning. */
export function neverFailing(logger: PluginLogger): PluginLogger {
  let warned = false;
  const warn = (error: unknown) => {
    if (!warned) process.emitWarning(error instanceof Error ? error : 'the logger of a plugin has thrown');
    warned = true;
  };
  const to =
    (level: keyof PluginLogger): Write =>
    (message, attributes) => {
      try {
        // Errors of an asynchronous logger count, too.
        Promise.resolve(logger[level](message, attributes)).catch(warn);
      } catch (error) {
        warn(error);
      }
    };
  return { info: to('info'), warn: to('warn') };
}

/** A value as JSON, for people and models to read; callbacks may have put anything into it. */
export function shownJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'undefined';
  } catch {
    // A value without a JSON form is shown as Node shows it.
    return inspect(value, { breakLength: Infinity, compact: true, depth: 4 });
  }
}
