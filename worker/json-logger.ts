import type { HoldfastLogger } from '../activities/logging.ts';

type Level = keyof HoldfastLogger;

const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

export interface JsonLoggerOptions {
  /**
   * Lines of lower levels are left out.
   *
   * @default 'info'
   */
  level?: Level;
  /**
   * Gets each line, with its line break.
   *
   * @default standard error
   */
  write?: (line: string) => void;
}

/** One JSON object per line: `time` (ISO 8601), `level`, `message`, and the attributes. */
export function jsonLogger(options: JsonLoggerOptions = {}): HoldfastLogger {
  const write = options.write ?? ((line: string) => void process.stderr.write(line));
  const least = LEVELS.indexOf(options.level ?? 'info');
  const to = (level: Level): HoldfastLogger[Level] =>
    LEVELS.indexOf(level) < least ? () => undefined : (message, more) => write(lineOf(level, message, more));
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
}

function lineOf(level: Level, message: string, attributes: Record<string, unknown> = {}): string {
  const { time: _time, level: _level, message: _message, ...others } = attributes;
  const head = { time: new Date().toISOString(), level, message };
  try {
    return `${JSON.stringify({ ...head, ...others }, asJson)}\n`;
  } catch {
    // A line without its attributes, where one is a cycle, is better than none.
    return `${JSON.stringify({ ...head, attributes: Object.keys(others) })}\n`;
  }
}

function asJson(_key: string, value: unknown): unknown {
  if (value instanceof Error) return value.stack || value.message;
  return typeof value === 'bigint' ? String(value) : value;
}
