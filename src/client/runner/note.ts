/** Tells the person at the terminal, unless HOLDFAST_QUIET says not to. */
export function note(line: string): void {
  if (!process.env.HOLDFAST_QUIET) process.stderr.write(`holdfast: ${line}\n`);
}
