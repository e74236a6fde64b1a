import { InvalidArgumentError, Option } from 'commander';
import { readDuration } from '../../schema/duration.ts';

const DURATION = /^\d+(\.\d+)?\s*[a-z]*$/i;

/** An option that a variable may set too: the option wins, then the variable, then the default. */
export function setting<T>(
  flags: string,
  description: string,
  variable: string,
  parse: (text: string) => T,
  preset?: string,
): Option {
  const option = new Option(flags, description).env(variable);
  if (preset !== undefined) option.default(parse(preset), preset);
  return option.argParser(parse);
}

/** An option that needs no value; it, as its variable, may say `true`, `1` or `yes`. */
export function switchSetting(flags: string, description: string, variable: string): Option {
  return new Option(`${flags} [yes]`, description)
    .env(variable)
    .argParser((text: string) => /^(true|1|yes)$/i.test(text));
}

export function waitSetting(): Option {
  const what = 'how long to wait for a server and a store that are not up yet';
  return setting('--wait <duration>', what, 'HOLDFAST_WAIT', milliseconds, '60s');
}

export function logSetting(): Option {
  const formats = oneOf(['json', 'text']);
  return setting(
    '--log <format>',
    'json or text (default: text at a terminal, else json)',
    'HOLDFAST_LOG',
    formats,
  );
}

export function logLevelSetting(): Option {
  const levels = oneOf(['debug', 'info', 'warn', 'error']);
  return setting('--log-level <level>', 'debug, info, warn or error', 'HOLDFAST_LOG_LEVEL', levels, 'info');
}

/** @throws InvalidArgumentError */
export function milliseconds(text: string): number {
  if (/^0+\s*[a-z]*$/i.test(text)) return 1;
  const read = DURATION.test(text) ? readDuration(text) : { problem: 'expected a duration like 30s or 5m' };
  if ('ms' in read) return read.ms;
  throw new InvalidArgumentError(read.problem);
}

/** @throws InvalidArgumentError */
export function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('expected a port of 1 to 65535');
}

/** @throws InvalidArgumentError */
export function word(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('expected a value, got an empty one: leave the option out');
}

/** @throws InvalidArgumentError */
export function oneOf<Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((each) => each === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`expected one of ${words.join(', ')}`);
  };
}
