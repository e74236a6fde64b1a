import { setTimeout } from 'node:timers/promises';
import type { Receipt } from '../../client/messages/message-receipt.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';

/** As long as the client gives a worker to answer, milliseconds. */
const TIMEOUT = 5_000;

const FIRST_PAUSE = 50;

/**
 * The receipt of a message. The turn that is found by its id alone has nothing to ask the worker with, as its sender's handle
 * has: it is looked for until the worker has taken the message up.
 *
 * @param timeout milliseconds.
 * @param signal ends the looking.
 */
export async function awaitReceipt(
  find: () => Promise<TurnHandle>,
  { timeout = TIMEOUT, signal }: { timeout: number | undefined; signal: AbortSignal },
): Promise<Receipt> {
  const deadline = Date.now() + timeout;
  for (let pause = FIRST_PAUSE; ; pause *= 2) {
    const turn = await find();
    const receipt = await turn.receipt({ timeout: Math.max(0, deadline - Date.now()) });
    if (receipt.confirmed || signal.aborted || Date.now() + pause > deadline) return receipt;
    await setTimeout(pause, undefined, { signal }).catch(() => undefined);
  }
}
