import { createInterface } from 'node:readline/promises';
import { hasCode } from '../../contract/error.ts';
import { visibleLines, visibleText } from '../../protocol/visible-text.ts';
import { readSecret } from '../hidden-input.ts';
import type { Person } from './ask-person.ts';

export interface TerminalPersonOptions {
  input?: NodeJS.ReadStream;
  err?: NodeJS.WritableStream;
  /** Ctrl-C. Defaults to a SIGINT to this process, which its command heeds. */
  interrupt?: () => void;
}

/** Somebody at the terminal. Ctrl-D, like an empty line, puts an answer off. */
export function terminalPerson(
  signal: AbortSignal,
  {
    input = process.stdin,
    err = process.stderr,
    interrupt = () => void process.kill(process.pid, 'SIGINT'),
  }: TerminalPersonOptions = {},
): Person {
  return {
    tell: (line) => void err.write(`${visibleLines(line)}\n`),
    async ask(question, begun) {
      signal.throwIfAborted();
      const terminal = createInterface({ input, output: err, historySize: 0 });
      const over = new AbortController();
      const cutOff = () => over.abort();
      signal.addEventListener('abort', cutOff);
      terminal.once('SIGINT', () => {
        interrupt();
        over.abort();
      });
      // A terminal that has gone away answers nothing.
      terminal.on('error', () => over.abort());
      try {
        const answer = terminal.question(visibleLines(question), { signal: over.signal });
        if (begun !== undefined && begun !== '') terminal.write(visibleText(begun));
        return await answer;
      } catch (error) {
        if (!(error instanceof Error && error.name === 'AbortError')) throw error;
        err.write('\n');
        if (signal.aborted) throw error;
        return undefined;
      } finally {
        signal.removeEventListener('abort', cutOff);
        terminal.close();
      }
    },
    async secret(question) {
      try {
        return await readSecret(question, input, err, { mayBeEmpty: true, signal });
      } catch (error) {
        if (!hasCode(error, 'HOLDFAST_COMMAND_INTERRUPTED')) throw error;
        interrupt();
        return undefined;
      }
    },
  };
}
