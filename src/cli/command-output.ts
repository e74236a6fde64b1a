import { createInterface } from 'node:readline/promises';
import { visibleLines } from '../protocol/visible-text.ts';
import { Interrupted, UsageError } from './cli-error.ts';
import { painted, type Style, terminalText } from './terminal-text.ts';

/** Where a command's answer goes, and where all else; tests give their own. */
export interface CommandOutput {
  /** A line of the answer, on standard output. */
  line(text?: string): void;
  /** A value of the answer as one line of JSON, on standard output. */
  json(value: unknown): void;
  /** Progress and remarks, on standard error. */
  note(text: string): void;
  /** Colours for standard output, where it is a terminal. */
  paint(style: Style, text: string): string;
  /** Asks a person; undefined where nobody can be asked. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined;
}

export function processOutput(
  out: NodeJS.WriteStream = process.stdout,
  err: NodeJS.WriteStream = process.stderr,
): CommandOutput {
  return {
    line: (text = '') => void out.write(`${terminalText(text)}\n`),
    json: (value) => void out.write(`${JSON.stringify(value)}\n`),
    note: (text) => void err.write(`${painted(err, 'dim', visibleLines(text))}\n`),
    paint: (style, text) => painted(out, style, text),
    confirm: process.stdin.isTTY && err.isTTY ? (question) => asked(question, err) : undefined,
  };
}

/**
 * Asks somebody at a terminal; Ctrl-D is no agreement.
 *
 * @throws CliError on Ctrl-C, with exit code 130.
 */
export async function asked(
  question: string,
  err: NodeJS.WritableStream,
  input: NodeJS.ReadableStream = process.stdin,
): Promise<boolean> {
  const terminal = createInterface({ input, output: err });
  const interrupted = new AbortController();
  terminal.once('SIGINT', () => interrupted.abort());
  // A terminal that has gone away agrees to nothing.
  terminal.on('error', () => terminal.close());
  try {
    const answer = await terminal.question(`${visibleLines(question)} [y/N] `, {
      signal: interrupted.signal,
    });
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error;
    err.write('\n');
    if (interrupted.signal.aborted) throw new Interrupted('interrupted');
    return false;
  } finally {
    terminal.close();
  }
}

/**
 * How a person agrees to a deletion: by `--yes`, or when asked.
 *
 * @throws UsageError where nobody can be asked.
 */
export function agreement(
  what: string,
  { yes }: { yes?: boolean },
  { confirm, note }: CommandOutput,
): (question: string) => Promise<boolean> {
  if (yes) return async () => true;
  if (confirm === undefined)
    throw new UsageError(`there is nobody to ask whether ${what} is to be deleted: say so with --yes`);
  return async (question) => {
    const isAgreed = await confirm(`${question} This can't be taken back.`);
    if (!isAgreed) note('nothing was deleted');
    return isAgreed;
  };
}

/** Says what is being done once it has taken a second. */
export async function withProgress<T>(
  { note }: Pick<CommandOutput, 'note'>,
  what: string | (() => string),
  work: Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => note(`${typeof what === 'string' ? what : what()} …`), 1_000);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
