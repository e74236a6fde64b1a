import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { Check } from '../contract/check.ts';
import { checkOf, type InputOf, OPERATOR, type Operation, type OutputOf } from '../contract/operation.ts';
import { defined } from '../protocol/json.ts';
import { type CommandOutput, processOutput, withProgress } from './command-output.ts';
import { type ConnectOptions, connectFolder } from './connect-folder.ts';
import { fieldOption, jsonField } from './field-option.ts';

type FieldOf<Of extends Operation> = keyof InputOf<Of> & string;

/** A command that performs one operation: the fields of its input are options, and its answer is printed. */
export interface Form<Of extends Operation, Found extends FieldOf<Of>> {
  readonly operation: Of;
  readonly description: string;
  /** What `--json` prints. */
  readonly json: string;
  /** Fields that the argument says, in some form: they are no options. */
  readonly found: readonly Found[];
  /** Of options, beside the contract's text. */
  readonly help?: { readonly [Field in FieldOf<Of>]?: string };
}

export interface Shown<Of extends Operation, Found extends string> {
  reading: string;
  find(
    argument: string,
    options: object,
    api: HoldfastApi,
  ): Promise<Pick<InputOf<Of>, Found & keyof InputOf<Of>>>;
  doing: string;
  /** Returns the exit code. */
  print(answer: OutputOf<Of>, output: CommandOutput): number;
  exitCode(answer: OutputOf<Of>): number;
}

type Options = Pick<ConnectOptions, 'folder' | 'env'> & { json?: boolean } & Readonly<
    Record<string, unknown>
  >;

const STANDARD_INPUT = 0;

/** Adds the form's options to a command that has its argument, and what it does. */
export function addForm<Of extends Operation, Found extends FieldOf<Of>>(
  command: Command,
  exit: (code: number) => void,
  form: Form<Of, Found>,
  load: () => Promise<Shown<Of, Found>>,
): void {
  command.description(form.description);
  for (const field of optionsOf(form)) {
    const { check, isRequired } = field;
    const help = form.help?.[field.name] ?? (isJson(check) ? '- reads it from standard input' : undefined);
    const option = fieldOption(form.operation, field.name, flagsOf(field), defined({ help }));
    command.addOption(option.makeOptionMandatory(isRequired));
  }
  command.option('--json', form.json).action(async (argument: string, options: Options) => {
    exit(await runForm(form, await load(), argument, { ...options, env: process.env }));
  });
}

/** Performs a form's operation, and prints the answer. Returns the exit code. */
export async function runForm<Of extends Operation, Found extends FieldOf<Of>>(
  form: Form<Of, Found>,
  { reading, find, doing, print, exitCode }: Shown<Of, Found>,
  argument: string,
  options: Options,
  output: CommandOutput = processOutput(),
  piped: () => string = () => readFileSync(STANDARD_INPUT, 'utf8'),
): Promise<number> {
  const { folder, env } = options;
  const fields = optionsOf(form).map((field) => [field.name, givenFor(form, field, options, piped)]);
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const { api } = connected;
    const found = await withProgress(output, reading, find(argument, options, api));
    const given = { ...defined(Object.fromEntries(fields)), ...found } as InputOf<Of>;
    const answer = await withProgress(output, doing, api.call(form.operation, given, OPERATOR));
    if (!options.json) return print(answer, output);
    output.json(answer);
    return exitCode(answer);
  } finally {
    await connected.close();
  }
}

interface Field<Of extends Operation> {
  name: FieldOf<Of>;
  flag: string;
  check: Check;
  isRequired: boolean;
}

function optionsOf<Of extends Operation, Found extends FieldOf<Of>>({
  operation,
  found,
}: Form<Of, Found>): Field<Of>[] {
  const { properties = {}, required = [] } = checkOf(operation.input);
  return Object.entries(properties)
    .filter(([name]) => !(found as readonly string[]).includes(name))
    .map(([name, check]) => ({
      name: name as FieldOf<Of>,
      flag: (operation.wire?.[name] ?? name).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      check,
      isRequired: required.includes(name) || check['x-json'] === true,
    }));
}

function flagsOf<Of extends Operation>({ flag, check }: Field<Of>): string {
  if (isJson(check)) return `--${flag} <JSON>`;
  if (check.type === 'boolean') return `--${flag}`;
  return `--${flag} <${check.type === 'string' ? 'text' : 'number'}>`;
}

function givenFor<Of extends Operation, Found extends FieldOf<Of>>(
  { operation }: Form<Of, Found>,
  { name, flag, check }: Field<Of>,
  options: object,
  piped: () => string,
): unknown {
  const given = (options as Record<string, unknown>)[name];
  if (typeof given !== 'string' || !isJson(check)) return given;
  return given === '-'
    ? jsonField(operation, name, `standard input (--${flag} -)`, piped())
    : jsonField(operation, name, `--${flag}`, given);
}

function isJson({ type }: Check): boolean {
  return type === undefined || type === 'object';
}
