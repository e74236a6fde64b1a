import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Background } from '../background.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { Listener, SlackResponder } from './slack-responder.ts';

/** Name of Slack among the channels of the store. */
export const CHANNEL = 'slack';
/** Milliseconds after which people are told that it takes long. */
const LONG = 5_000;
const TAKES_LONG = 'This takes longer than usual. Holdfast tries for ten minutes, then tells you the result.';

/** A person's action in Slack. Slack may send it several times. */
export interface Done {
  /** The same when it is told again. */
  id: string;
  /** Undefined when there is nobody to tell the outcome. */
  listener: Listener | undefined;
  /** Text that comes first when the action has no effect. */
  nothing: 'Nothing was decided' | 'Nothing was asked';
}

/** Handles each of Slack's requests once, after Slack has its answer; its user hears where it takes long, or can't be done. */
export class SlackDeduplication {
  readonly #records: GatewayRecords;
  readonly #background: Background;
  readonly #responder: SlackResponder;

  constructor(parts: { records: GatewayRecords; background: Background; responder: SlackResponder }) {
    this.#records = parts.records;
    this.#background = parts.background;
    this.#responder = parts.responder;
  }

  /** As {@link Background.begin}. */
  begin(about: Record<string, unknown>, { id, listener, nothing }: Done, work: () => Promise<void>): boolean {
    const holder = randomUUID();
    return this.#background.begin(about, async () => {
      const over = new AbortController();
      const told = listener === undefined ? undefined : this.#tellLate(listener, over.signal);
      try {
        if (await this.#take({ id, holder }, { listener, nothing })) await work();
      } finally {
        over.abort();
        await told;
      }
    });
  }

  /** @returns false where another attempt has taken it. */
  async #take(
    delivery: { id: string; holder: string },
    { listener, nothing }: Pick<Done, 'listener' | 'nothing'>,
  ): Promise<boolean> {
    try {
      const { kind } = await this.#background.retryWhileUnavailable(() =>
        this.#records.messages.takeDelivery({ channel: CHANNEL, ...delivery }),
      );
      return kind === 'taken';
    } catch (error) {
      if (listener !== undefined) {
        await this.#responder.tell(listener, `${nothing}: Holdfast can’t be reached now. Try again later.`);
      }
      throw error;
    }
  }

  async #tellLate(listener: Listener, over: AbortSignal): Promise<void> {
    const isLate = await setTimeout(LONG, true, { signal: over }).catch(() => false);
    if (isLate) await this.#responder.tell(listener, TAKES_LONG);
  }
}
