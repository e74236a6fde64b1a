import type { Command } from 'commander';

/**
 * Makes a command's action: its function is loaded when it runs, and gets the arguments, and the options with the environment. A number
 * that it returns is the exit code.
 */
export type Act = (
  load: () => Promise<(...given: never[]) => unknown>,
) => (...given: unknown[]) => Promise<void>;

/** Adds a command to the program, or commands to their group. */
export type AddCommand = (parent: Command, act: Act) => void;

export const FOLDER_OPTION = [
  '--folder <path>',
  'folder of the embedded server and store',
  '.holdfast',
] as const;
