import type { Argument, Command, Option } from 'commander';

/** Words that can follow a command, or a group of commands. */
export interface Place {
  /** The command's words without the program's: `''`, `run`, `sessions list`. */
  path: string;
  subcommands: { name: string; description: string }[];
  options: CompletedOption[];
  arguments: CompletedArgument[];
}

export interface CompletedOption {
  /** `--folder`, and `-f` where there is one. */
  flags: string[];
  description: string;
  /** Undefined for a switch. */
  value: Values | undefined;
}

export interface CompletedArgument {
  values: Values;
  isVariadic: boolean;
}

/** Completion of a value: words, file names, or nothing. */
export type Values = { kind: 'words'; words: readonly string[] } | { kind: 'files' } | { kind: 'anything' };

/** Every place of a program, the program's own first. */
export function placesOf(program: Command, path: readonly string[] = []): Place[] {
  const subcommands = program.commands.filter((command) => !isHidden(command));
  const place: Place = {
    path: path.join(' '),
    subcommands: subcommands.map((command) => ({ name: command.name(), description: command.description() })),
    options: program
      .createHelp()
      .visibleOptions(program)
      .map((option) => ({
        flags: [option.long, option.short].filter((flag) => flag !== undefined && flag !== null),
        description: option.description,
        // A value that may be left out is not what the next word is taken for.
        value: option.required ? valuesOf(option, option.flags) : undefined,
      })),
    arguments: program.registeredArguments.map((argument) => ({
      values: valuesOf(argument, argument.name()),
      isVariadic: argument.variadic,
    })),
  };
  return [place, ...subcommands.flatMap((command) => placesOf(command, [...path, command.name()]))];
}

function isHidden(command: Command): boolean {
  return (command as Command & { _hidden?: boolean })._hidden === true;
}

function valuesOf({ argChoices }: Argument | Option, shown: string): Values {
  if (argChoices !== undefined) return { kind: 'words', words: argChoices };
  return /\bpath\b|\bfolder\b|\bfile\b|\.(ts|json)\b/.test(shown.replace(/^.*?([<[]|$)/, '') || shown)
    ? { kind: 'files' }
    : { kind: 'anything' };
}
