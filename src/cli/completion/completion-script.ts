import type { Command } from 'commander';
import { bashCompletion } from './bash.ts';
import { placesOf } from './command-tree.ts';
import { fishCompletion } from './fish.ts';
import { zshCompletion } from './zsh.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** The completion script of a shell, made from the program's own commands and options. */
export function completionScript(shell: keyof typeof SHELLS, program: Command): string {
  return SHELLS[shell](program.name(), placesOf(program));
}
