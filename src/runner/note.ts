import { variable } from '../environment.ts';

/** Tells the person at the terminal, unless HOLDFAST_QUIET says not to. */
export function note(line: string): void {
  if (variable('HOLDFAST_QUIET') === undefined) process.stderr.write(`holdfast: ${line}\n`);
}
