import type { HoldfastLogger } from '../../../activities/logging.ts';
import { jsonLogger } from '../../../worker/json-logger.ts';
import { visibleLines } from '../../protocol/visible-text.ts';

export interface LogOptions {
  /** Defaults to text at a terminal, else JSON. */
  log?: 'json' | 'text' | undefined;
  /** As `log: 'json'`. */
  json?: boolean;
  logLevel: 'debug' | 'info' | 'warn' | 'error';
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** A log on standard error for the operator: JSON lines for programs, else one readable line each. */
export function operatorLog(options: LogOptions, err = process.stderr): HoldfastLogger {
  const { logLevel } = options;
  if (isJson(options, err)) return jsonLogger({ level: logLevel });
  const to = (level: (typeof LEVELS)[number]): HoldfastLogger[typeof level] =>
    LEVELS.indexOf(level) < LEVELS.indexOf(logLevel)
      ? () => undefined
      : (message, attributes) => void err.write(visibleLines(textLine(level, message, attributes)));
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
}

export function isJson({ log, json }: LogOptions, err: { isTTY?: boolean } = process.stderr): boolean {
  return json || (log ?? (err.isTTY ? 'text' : 'json')) === 'json';
}

function textLine(level: string, message: string, attributes: Record<string, unknown> = {}): string {
  const time = new Date().toISOString().slice(11, 23);
  const shown = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${shownValue(value)}`);
  return `${[time, level.padEnd(5), message, ...shown].join(' ')}\n`;
}

function shownValue(value: unknown): string {
  if (value instanceof Error) return value.stack || value.message;
  if (typeof value === 'string') return /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? String(inner) : inner)) ?? '';
}

/** Without a folder there is no file for the operator; the terminal gets a line. */
export function lineLogger(onLine: (line: string) => void): HoldfastLogger {
  const told = (message: string) => onLine(message);
  const untold = () => undefined;
  return { debug: untold, info: untold, warn: told, error: told };
}
