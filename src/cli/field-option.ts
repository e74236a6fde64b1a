import { Argument, Option } from 'commander';
import { type Check, take } from '../contract/check.ts';
import { type Contract, checkOf, type InputOf, readText } from '../contract/operation.ts';
import { UsageError } from './cli-error.ts';

/** The part of a contract that options are of. */
type Fields = Pick<Contract, 'input'>;

type FieldOf<Of extends Fields> = keyof InputOf<Of> & string;

interface FieldOptionSettings {
  /** Text for help and errors, in addition to the contract's. */
  help?: string;
  /** Reads the text, with what an option before it has given. Defaults to reading it as a query does. */
  read?: (text: string, before: unknown) => unknown;
}

/**
 * An option that is a field of an operation: its description, limits, choices and default are those of the contract, and so is
 * what is wrong with a value. JSON is read later, by {@link jsonField}.
 *
 * @throws UsageError when it is parsed, which names the option and never the value
 */
export function fieldOption<Of extends Fields>(
  operation: Of,
  field: FieldOf<Of>,
  flags: string,
  settings: FieldOptionSettings = {},
): Option {
  const check = checkOfField(operation, field);
  const option = new Option(flags, helpOf(check, settings));
  if (/^(number|string)$/.test(typeof check.default)) option.default(check.default);
  // The error of the choices' parser would repeat the value.
  if (check.enum !== undefined) option.choices(check.enum.map(String));
  if (option.isBoolean() || flags.includes('<JSON>')) return option;
  return option.argParser(parserOf(check, option.long ?? flags, settings));
}

/** As {@link fieldOption}, of an argument: `<credential>`. */
export function fieldArgument<Of extends Fields>(
  operation: Of,
  field: FieldOf<Of>,
  name: string,
  settings: FieldOptionSettings = {},
): Argument {
  const check = checkOfField(operation, field);
  return new Argument(name, helpOf(check, settings)).argParser(parserOf(check, name, settings));
}

/** The operation that a command runs. */
export function summaryOf({ summary }: Contract): string {
  return phrase(summary);
}

/** Checks options that are fields of an operation. @throws UsageError */
export function checkOptions<Of extends Fields>(
  operation: Of,
  options: { [Option in `--${string}`]: [field: FieldOf<Of>, value: string | undefined] },
): void {
  for (const [option, [field, value]] of Object.entries(options)) {
    if (value !== undefined) fieldValue(checkOfField(operation, field), option, value);
  }
}

/** JSON of an option that is a field of an operation. @throws UsageError */
export function jsonField<Of extends Fields, Field extends FieldOf<Of>>(
  operation: Of,
  field: Field,
  option: string,
  json: string,
): NonNullable<InputOf<Of>[Field]> {
  const value = fieldValue(checkOfField(operation, field), option, parsedOption(option, json));
  return value as NonNullable<InputOf<Of>[Field]>;
}

/** @throws UsageError naming the option and the place, never the text. */
function parsedOption(option: string, json: string): unknown {
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

function checkOfField({ input }: Fields, field: string): Check {
  const check = checkOf(input).properties?.[field];
  if (check === undefined) throw new TypeError(`the operation has no field ${field}`);
  return check;
}

function parserOf(check: Check, option: string, { read, help }: FieldOptionSettings) {
  return (text: string, before: unknown): unknown =>
    fieldValue(check, option, read === undefined ? readText(check, text) : read(text, before), help);
}

function fieldValue(check: Check, option: string, value: unknown, help?: string): unknown {
  const { problem, value: taken } = take<unknown>(check, value);
  if (problem === undefined) return taken;
  const more = help === undefined ? '' : `: ${help}`;
  // Which of several is wrong is seen.
  const within = problem.field.replace(/^\[\d+\]/, '');
  throw new UsageError(`${option}: ${within === '' ? '' : `${within}: `}${problem.problem}${more}`);
}

/** As contracts say it of what can't stand in a schema. */
const BY_DEFAULT = / Defaults to ([^.]+)\./;

/** As an option is described: `rows of a page, 1 to 1000`. */
function helpOf(check: Check, { help }: FieldOptionSettings): string {
  const { description = '', minimum, maximum, maxLength, 'x-max-bytes': mostBytes } = check;
  const [, byDefault] = BY_DEFAULT.exec(description) ?? [];
  const said = [phrase(description.replace(' URI-encoded.', '').replace(BY_DEFAULT, ''))];
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  if (check.type === 'integer' && isBounded) said.push(`${minimum} to ${maximum}`);
  if (maxLength !== undefined) said.push(`at most ${maxLength} characters`);
  if (mostBytes !== undefined) said.push(`at most ${sizeText(mostBytes)}`);
  const separator = help?.startsWith('(') ? ' ' : '; ';
  const more = byDefault === undefined ? '' : ` (default: ${byDefault})`;
  return said.join(', ') + more + (help === undefined ? '' : separator + help);
}

/** Sentences as the description of a command or an option. */
function phrase(sentences: string): string {
  const told = sentences.split(/\.(?:\s|$)/).filter((sentence) => sentence !== '');
  return told.map(uncapitalized).join('; ');
}

function uncapitalized(text: string): string {
  return text.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase());
}

function sizeText(bytes: number): string {
  const mebi = 1024 * 1024;
  return bytes % mebi === 0 ? `${bytes / mebi} MiB` : `${bytes / 1024} KiB`;
}
