import type { Person } from '../gates/ask-person.ts';

/** A question in the chat, which the next line answers. */
export class ChatQuestion {
  readonly #tell: (line: string) => void;
  #open: ((line: string) => void) | undefined;

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  /** Whether the line was an answer. An empty one puts it off. */
  takes(line: string): boolean {
    const open = this.#open;
    this.#open = undefined;
    open?.(line);
    return open !== undefined;
  }

  /** Somebody who types in the chat, where nothing can be hidden. */
  person(signal: AbortSignal): Person {
    return {
      tell: (line) => this.#tell(`  ${line}`),
      ask: async (question, begun = '') => {
        signal.throwIfAborted();
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        const cutOff = () => reject(signal.reason);
        signal.addEventListener('abort', cutOff);
        this.#tell(`  ${question.trim()}`);
        if (begun !== '') this.#tell(`  ${begun}`);
        this.#open = resolve;
        try {
          return await promise;
        } finally {
          signal.removeEventListener('abort', cutOff);
          if (this.#open === resolve) this.#open = undefined;
        }
      },
    };
  }
}
