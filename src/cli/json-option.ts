import { isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { UsageError } from './cli-error.ts';

/** @throws CliError naming the option and the place, never the text. */
export function parsedOption(option: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    // JSON's own message quotes what it could not read.
    const place = error instanceof Error ? /\bat position \d+/.exec(error.message)?.[0] : undefined;
    throw new UsageError(
      `${option}: expected JSON as one word of the shell${place === undefined ? '' : `; it is wrong ${place}`}`,
    );
  }
}

/** @param what it holds, for the message. @throws CliError */
export function objectOption(option: string, json: string, what: string): Record<string, unknown> {
  const value = parsedOption(option, json);
  if (isRecord(value)) return value;
  throw new UsageError(`${option}: expected an object of ${what}, got ${kindOf(value)}`);
}
