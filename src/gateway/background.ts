import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { errorAnswer } from './error-answer.ts';
import { RequestRefused } from './gateway-errors.ts';
import type { GatewayLogger } from './gateway-logger.ts';

/** Milliseconds for which something is tried that can't be done now. */
const LONGEST = 10 * 60_000;
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 15_000;
/** Milliseconds that a gateway which closes waits for what it has begun. */
const GRACE = 10_000;
/** Milliseconds of them for which an answer is waited for that doesn't come: so that there is time to say so. */
const LAST = 5_000;
/** Things that are done at the same time. */
const MOST = 1_000;

/** The gateway closes, and waits for nothing any more. */
class GatewayCloses extends RequestRefused {
  constructor(options?: ErrorOptions) {
    super('HOLDFAST_GATEWAY_BUSY', undefined, {}, options);
  }
}

/** Whether Temporal, the store or the gateway can't be reached now, so that the same may go well later. */
export function isPassing(error: unknown): boolean {
  const { status } = errorAnswer(error);
  return status === 503 || status === 504;
}

/** Whether the wait for its result was given up, because the gateway closes. */
export function isLeft(error: unknown): boolean {
  return error instanceof GatewayCloses;
}

/** Work that goes on after its request was answered: Slack waits three seconds, and people longer. */
export class Background {
  readonly #logger: GatewayLogger;
  readonly #closing: AbortSignal;
  readonly #most: number;
  readonly #open = new Set<Promise<void>>();

  /** @param parts `most`: things that are done at the same time. */
  constructor({
    logger,
    closing,
    most = MOST,
  }: {
    logger: GatewayLogger;
    closing: AbortSignal;
    most?: number;
  }) {
    this.#logger = logger;
    this.#closing = closing;
    this.#most = most;
  }

  /**
   * @param about for the log: no names of users and no contents.
   * @returns false where too much else is being done: it isn't begun.
   */
  begin(about: Record<string, unknown>, work: () => Promise<void>): boolean {
    if (this.#open.size >= this.#most) return false;
    void this.#run(about, work);
    return true;
  }

  /**
   * The same, waiting for it a while.
   *
   * @param time milliseconds; longer work goes on.
   * @param work hears by its signal that nobody waits any more.
   * @throws what passes, where it threw that meanwhile.
   */
  async beginAndWait(
    about: Record<string, unknown>,
    work: (left: AbortSignal) => Promise<void>,
    time: number,
  ): Promise<'done' | 'later' | 'full'> {
    if (this.#open.size >= this.#most) return 'full';
    const left = new AbortController();
    const ended = new AbortController();
    const problem: { error?: unknown } = {};
    const run = this.#run(about, async () => {
      try {
        await work(left.signal);
      } catch (error) {
        if (left.signal.aborted || !isPassing(error)) throw error;
        problem.error = error;
      }
    });
    const late = setTimeout(time, 'late', { signal: ended.signal }).catch(() => 'ended');
    const first = await Promise.race([run, late]);
    left.abort();
    ended.abort();
    if ('error' in problem) throw problem.error;
    return first === 'late' ? 'later' : 'done';
  }

  /**
   * Tries again what can't be done now.
   *
   * @throws what it threw last; RequestRefused where a gateway that closes has waited in vain.
   */
  async retryWhileUnavailable<T>(work: () => Promise<T>): Promise<T> {
    const deadline = Date.now() + LONGEST;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        return await this.#unlessLeft(work);
      } catch (error) {
        const isOver = Date.now() + pause > deadline || this.#closing.aborted;
        if (isOver || !isPassing(error)) throw error;
      }
      await setTimeout(pause, undefined, { signal: this.#closing }).catch(() => undefined);
    }
  }

  /** @throws RequestRefused where the gateway closes meanwhile. */
  async pause(time: number): Promise<void> {
    await setTimeout(time, undefined, { signal: this.#closing }).catch((cause: unknown) => {
      throw new GatewayCloses({ cause });
    });
  }

  /** Waits for all started work, `grace` milliseconds at most. It then gives up the rest, and tells the operator. */
  async settle(grace = GRACE): Promise<void> {
    const over = new AbortController();
    const late = setTimeout(grace, undefined, { signal: over.signal }).catch(() => undefined);
    let isLate = false;
    void late.then(() => {
      isLate = true;
    });
    while (this.#open.size > 0 && !isLate) await Promise.race([late, Promise.all(this.#open)]);
    over.abort();
    if (this.#open.size === 0) return;
    this.#logger.error('the gateway closes: unfinished work after its answers is given up', {
      count: this.#open.size,
    });
  }

  async #unlessLeft<T>(work: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    const { signal } = over;
    const leave = async (): Promise<never> => {
      if (!this.#closing.aborted) await once(this.#closing, 'abort', { signal });
      await setTimeout(LAST, undefined, { signal });
      throw new GatewayCloses();
    };
    try {
      return await Promise.race([work(), leave()]);
    } finally {
      over.abort();
    }
  }

  #run(about: Record<string, unknown>, work: () => Promise<void>): Promise<void> {
    const done = work()
      .catch((error: unknown) => {
        this.#logger.error('work after an answer has failed', { ...about, error });
      })
      .finally(() => this.#open.delete(done));
    this.#open.add(done);
    return done;
  }
}
