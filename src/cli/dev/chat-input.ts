import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from 'node:readline';
import type { Screen } from './screen.ts';

/** Where a chat's lines come from. */
export interface ChatInput {
  /** Whether something runs, so that no prompt is shown. */
  busy(isBusy: boolean): void;
  close(): void;
}

export interface ChatInputListener {
  line(line: string): void;
  /** Ctrl-C on an empty line. */
  interrupt(): void;
  /** No more lines come. */
  end(): void;
  /** Completions of a line's end, and the part of the line that they replace. */
  complete(line: string): [string[], string];
}

const PROMPT = '› ';

/** Lines of a person at a terminal, with history and completion. While a turn runs the prompt comes with the first key. */
export function terminalInput(
  screen: Screen,
  history: { lines: string[]; save(lines: string[]): void },
  listener: ChatInputListener,
  input: NodeJS.ReadStream = process.stdin,
  output: NodeJS.WriteStream = process.stdout,
): ChatInput {
  const typed = createInterface({
    input,
    output,
    terminal: true,
    prompt: PROMPT,
    history: history.lines,
    historySize: 1_000,
    removeHistoryDuplicates: true,
    completer: (line: string) => listener.complete(line),
  });
  let isBusy = false;
  let isTyping = false;
  let isOver = false;
  const showPrompt = () => {
    if (!isOver) typed.prompt(true);
  };
  const idlePrompt = { hide: () => erase(typed, output), show: showPrompt };

  const beginTyping = (_text: string, key: { name?: string; ctrl?: boolean } | undefined) => {
    if (!isBusy || isTyping || isOver || key?.ctrl || key?.name === 'return' || key?.name === 'enter') return;
    isTyping = true;
    screen.hold();
    showPrompt();
    // Once the key has been taken up.
    setImmediate(endTypingIfEmpty);
  };
  const endTypingIfEmpty = () => {
    if (isTyping && typed.line === '') endTyping();
    else if (isTyping) input.once('keypress', () => setImmediate(endTypingIfEmpty));
  };
  const endTyping = () => {
    erase(typed, output);
    isTyping = false;
    screen.release();
  };
  input.prependListener('keypress', beginTyping);

  typed.on('line', (line) => {
    screen.typedLineEnded();
    if (isTyping) {
      isTyping = false;
      screen.release();
    }
    listener.line(line);
    if (!isBusy) screen.usePrompt(idlePrompt);
  });
  typed.on('history', (lines) => history.save(lines));
  typed.on('SIGINT', () => {
    if (typed.line !== '') {
      typed.write(null, { ctrl: true, name: 'e' });
      typed.write(null, { ctrl: true, name: 'u' });
      if (isTyping) endTyping();
      return;
    }
    listener.interrupt();
  });
  // A terminal that has gone away can't be read any more.
  typed.on('error', () => typed.close());
  typed.on('close', () => {
    isOver = true;
    input.off('keypress', beginTyping);
    screen.usePrompt(undefined);
    screen.release();
    listener.end();
  });
  screen.usePrompt(idlePrompt);
  return {
    busy(now) {
      if (now === isBusy || isOver) return;
      isBusy = now;
      if (now) return screen.usePrompt(undefined);
      if (isTyping) {
        // The line being typed becomes the prompt's line, below the held output.
        isTyping = false;
        erase(typed, output);
        screen.release();
      }
      screen.usePrompt(idlePrompt);
    },
    close: () => typed.close(),
  };
}

/** Lines of a program, or of a file: each as it is. */
export function pipedInput(listener: ChatInputListener, input: NodeJS.ReadStream = process.stdin): ChatInput {
  const lines = createInterface({ input, terminal: false });
  lines.on('line', (line) => listener.line(line));
  lines.on('error', () => lines.close());
  lines.on('close', () => listener.end());
  return { busy: () => undefined, close: () => lines.close() };
}

/** The prompt with what is typed may take several rows. */
function erase(typed: Interface, output: NodeJS.WriteStream): void {
  const { rows } = typed.getCursorPos();
  if (rows > 0) moveCursor(output, 0, -rows);
  cursorTo(output, 0);
  clearScreenDown(output);
}
