import type { Screen } from './screen.ts';
import { Chat, type ChatOptions } from './chat.ts';
import { chatHistory } from './chat-history.ts';
import { type ChatInput, pipedInput, terminalInput } from './chat-input.ts';
import { completeLine } from './slash-commands.ts';

export interface ConversationOptions {
  screen: Screen;
  /** Whether a person types at a terminal; else lines come from a pipe or a file. */
  isTyped: boolean;
  /** Keeps the history of typed lines. */
  folder: string;
  chat: Omit<ChatOptions, 'onBusy' | 'onQuit'>;
}

export interface Conversation {
  /** The exit code. */
  ended: Promise<number>;
  /** Ctrl-C: ends the turn that runs, or says how to end; a second one ends. */
  interrupt(): void;
  close(): void;
}

export function startConversation({ screen, isTyped, folder, chat: given }: ConversationOptions): Conversation {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  let input: ChatInput | undefined;
  let wasInterrupted = false;
  const chat = new Chat({
    ...given,
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
    chat.interrupt().catch((error: unknown) => given.view.problem(String(error)));
  };
  if (isTyped) {
    input = terminalInput(screen, chatHistory(folder), {
      line(line) {
        wasInterrupted = false;
        void chat.line(line);
      },
      interrupt,
      end: () => end(0),
      complete: (line) => completeLine(chat, line),
    });
  } else {
    input = pipedInput(pipedLines(chat, end, (line) => given.view.note(line)));
  }
  return { ended, interrupt, close: () => input?.close() };
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
      if (Chat.steers(line)) {
        const { promise, resolve } = Promise.withResolvers<boolean>();
        // Once the lines before it have begun.
        setImmediate(() => resolve(chat.line(line)));
        also.push(promise.then(did));
      } else {
        before = before.then(() => chat.line(line)).then(did);
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
