import type { Notifier } from './notifier.ts';
import { requestLines } from './request-lines.ts';

export interface TerminalNotifierOptions {
  /**
   * Gets each text, with its line breaks.
   *
   * @default standard error
   */
  write?: (text: string) => void;
}

/**
 * Shows requests on the terminal of the worker, with the commands that answer them.
 *
 * @example new App({ name: 'shop', rootAgent, durable: { notifiers: [terminalNotifier()] } });
 */
export function terminalNotifier(options: TerminalNotifierOptions = {}): Notifier {
  const write = options.write ?? ((text: string) => void process.stderr.write(text));
  return {
    name: 'terminal',
    async notify(requests, why) {
      for (const request of requests) {
        const [head = '', ...lines] = requestLines(request, why);
        write(`? ${head}\n${lines.map((line) => `    ${line}\n`).join('')}`);
      }
    },
  };
}
