import { setTimeout } from 'node:timers/promises';
import { TemporalUnreachable } from '../../client/client-errors.ts';
import { StoreUnavailable } from '../../store/store-errors.ts';

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5_000;

/**
 * Opens what may not be up yet, again and again: where many processes start together, their order is anyone's guess.
 *
 * @param wait milliseconds from now on, after which the last failure counts.
 * @throws what `open` throws, at once for what no waiting mends: a malformed address, for one.
 */
export async function waitForBackend<T>(
  open: () => Promise<T>,
  { wait, note }: { wait: number; note: (line: string) => void },
): Promise<T> {
  const deadline = Date.now() + wait;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return await open();
    } catch (error) {
      const left = deadline - Date.now();
      if (!mayPass(error) || left <= 0) throw error;
      note(`waiting, ${Math.ceil(left / 1_000)} s at most: ${firstSentence(error)}`);
      await setTimeout(Math.min(pause, left));
    }
  }
}

function mayPass(error: unknown): error is Error {
  return error instanceof TemporalUnreachable || error instanceof StoreUnavailable;
}

function firstSentence({ message }: Error): string {
  return message.split(/(?<=[^.\s]{2}\.) |\n/, 1)[0] ?? message;
}
