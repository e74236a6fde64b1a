import { type Command, InvalidArgumentError } from 'commander';
import { MOST_LISTED } from '../../contract/lists.ts';

/** Adds a command to the program; `exit` is told the exit code where it isn't 0. What a command needs is loaded when it runs. */
export type AddCommand = (holdfast: Command, exit: (code: number) => void) => void;

export const FOLDER_OPTION = [
  '--folder <path>',
  'folder of the embedded server and store',
  '.holdfast',
] as const;

/** Of a command that lists. */
export const LIMIT_OPTION = [
  '--limit <number>',
  `so many at most, up to ${MOST_LISTED}`,
  limitNumber,
  100,
] as const;

function limitNumber(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= MOST_LISTED) return number;
  throw new InvalidArgumentError(`Expected a whole number of 1 to ${MOST_LISTED}.`);
}
