import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { thrownMessage } from '../../schema/thrown-message.ts';
import { describeError } from '../cli-error.ts';
import { Chat, type ChatOptions } from './chat.ts';
import { type ChatInput, pipedInput, terminalInput } from './chat-input.ts';
import type { Screen } from './screen.ts';
import { completeLine, isSteering, runSlashCommand } from './slash-commands.ts';

export interface ConversationOptions {
  screen: Screen;
  /** Whether a person types at a terminal; else lines come from a pipe or a file. */
  isTyped: boolean;
  /** Keeps the history of typed lines. */
  folder: string;
  chat: Omit<ChatOptions, 'onBusy' | 'onQuit' | 'isTyped'>;
}

export interface Conversation {
  /** The exit code. */
  ended: Promise<number>;
  /** Ctrl-C: ends the turn that runs, or says how to end; a second one ends. */
  interrupt(): void;
  close(): void;
}

export async function startConversation({
  screen,
  isTyped,
  folder,
  chat: given,
}: ConversationOptions): Promise<Conversation> {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  let input: ChatInput | undefined;
  let wasInterrupted = false;
  const chat = new Chat({
    ...given,
    isTyped,
    onBusy(isBusy) {
      wasInterrupted = false;
      input?.busy(isBusy);
    },
    onQuit() {
      end(0);
      input?.close();
    },
  });
  const interrupt = () => {
    if (wasInterrupted) return end(0);
    wasInterrupted = true;
    if (!chat.isBusy) return given.view.note('  once more ends it; so does /quit');
    given.view.note('  interrupting; once more ends it');
    chat.interrupt().catch((error: unknown) => given.view.problem(describeError(error)));
  };
  // Before the first line, whose turn comes after the one that runs.
  await chat.goOn().catch((error: unknown) => given.view.problem(describeError(error)));
  if (isTyped) {
    input = terminalInput(
      screen,
      chatHistory(folder, (line) => given.view.problem(line)),
      {
        line(line) {
          wasInterrupted = false;
          void runLine(chat, line);
        },
        interrupt,
        end: () => end(0),
        complete: (line) => completeLine(chat, line),
      },
    );
  } else {
    input = pipedInput(pipedLines(chat, end, (line) => given.view.note(line)));
  }
  input.busy(chat.isBusy);
  void chat.late.join(chat.names);
  return {
    ended,
    interrupt,
    close() {
      chat.late.close();
      input?.close();
    },
  };
}

/** Resolves when all that a line has brought about is shown; false where it did not come to a good end. */
async function runLine(chat: Chat, line: string): Promise<boolean> {
  const text = line.trim();
  if (!text.startsWith('/') && chat.question.takes(text)) return true;
  if (text === '') return true;
  try {
    if (!text.startsWith('/')) return await chat.send(text);
    // A message that begins with a slash is typed with two.
    return text.startsWith('//') ? await chat.send(text.slice(1)) : await runSlashCommand(chat, text);
  } catch (error) {
    chat.view.problem(describeError(error));
    return false;
  }
}

/** One line after another; but what steers the turn that runs acts at once. */
function pipedLines(chat: Chat, end: (code: number) => void, note: (line: string) => void) {
  let before = Promise.resolve(true);
  let failed = false;
  let isEmpty = true;
  const also: Promise<boolean>[] = [];
  const did = (isWell: boolean) => {
    failed ||= !isWell;
    return isWell;
  };
  return {
    line(line: string) {
      isEmpty = false;
      if (isSteering(line)) {
        const { promise, resolve } = Promise.withResolvers<boolean>();
        // Once the lines before it have begun.
        setImmediate(() => resolve(runLine(chat, line)));
        also.push(promise.then(did));
      } else {
        before = before.then(() => runLine(chat, line)).then(did);
      }
    },
    interrupt: () => undefined,
    end() {
      if (isEmpty) note('standard input has ended; --no-chat serves without one');
      void before.then(() => Promise.all(also)).then(() => end(failed ? 1 : 0));
    },
    complete: (line: string): [string[], string] => [[], line],
  };
}

/**
 * Lines typed in a folder's chats, newest first: `chat-history`, readable by its user only.
 *
 * @param onProblem is told, once, that it can't be written: a full disk ends no chat.
 */
export function chatHistory(
  folder: string,
  onProblem: (line: string) => void,
): { lines: string[]; save(lines: string[]): void } {
  const path = join(folder, 'chat-history');
  let isTold = false;
  return {
    lines: read(path),
    save(lines) {
      try {
        writeFileSync(path, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 });
        // The mode above counts for a new file only.
        chmodSync(path, 0o600);
      } catch (error) {
        if (!isTold) onProblem(`what is typed can't be kept in ${path}: ${thrownMessage(error)}`);
        isTold = true;
      }
    },
  };
}

function read(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
