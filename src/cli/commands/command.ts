import type { Command } from 'commander';

/** Adds a command to the program; `exit` is told the exit code where it isn't 0. What a command needs is loaded when it runs. */
export type AddCommand = (holdfast: Command, exit: (code: number) => void) => void;

/** As {@link AddCommand}, of the commands of a group. */
export type AddToGroup = (group: Command, exit: (code: number) => void) => void;

export const FOLDER_OPTION = [
  '--folder <path>',
  'folder of the embedded server and store',
  '.holdfast',
] as const;
