import type { Command } from 'commander';

/** Adds a command to the program; `exit` gets an exit code that isn't 0. A command loads its modules when it runs. */
export type AddCommand = (holdfast: Command, exit: (code: number) => void) => void;

/** As {@link AddCommand}, of the commands of a group. */
export type AddToGroup = (group: Command, exit: (code: number) => void) => void;

export const FOLDER_OPTION = [
  '--folder <path>',
  'folder of the embedded server and store',
  '.holdfast',
] as const;
