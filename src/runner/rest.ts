import type { HoldfastApi } from '../client/holdfast-api.ts';
import { whenAtRest } from '../client/turns/turn-at-rest.ts';
import type { EventKind } from '../contract/events.ts';
import type { Event } from '../events/event.ts';
import type { TurnStatus } from '../protocol/turn.ts';

/** A tool that isn't declared as long-running rarely says so while it runs, milliseconds. */
const RARE = 500;

type Watched = Parameters<typeof whenAtRest>[1];

/** Finds out when a turn waits for others, and nothing of it runs: looked for where that may be. */
export class Rest {
  readonly #api: HoldfastApi;
  readonly #watched: Watched;
  readonly #reached = new AbortController();
  #watching: AbortController | undefined;

  constructor(api: HoldfastApi, watched: Watched) {
    this.#api = api;
    this.#watched = watched;
  }

  /** Aborted once the turn is at rest, with the status of the turn that waits as the reason. */
  get reached(): AbortSignal {
    return this.#reached.signal;
  }

  /** The turn that waits, if it is another one than that which is watched. */
  get before(): TurnStatus | undefined {
    const status: TurnStatus | undefined = this.#reached.signal.reason;
    return status?.invocationId === this.#watched.invocationId ? undefined : status;
  }

  /** The turn's reader is given what it was told, perhaps with a stored event. */
  passed({ kind, event }: { kind?: EventKind; event?: Event }): void {
    if (kind === 'request') this.watch();
    else if (kind === 'responses') this.ignore();
    else if (kind === 'model' && event?.content?.parts?.some(({ functionCall }) => functionCall)) {
      this.watch(event.longRunningToolIds?.length ? 0 : RARE);
    }
  }

  watch(delay = 0): void {
    this.ignore();
    const watching = new AbortController();
    this.#watching = watching;
    whenAtRest(this.#api, { ...this.#watched, delay }, watching.signal).then(
      (status) => this.#reached.abort(status),
      () => undefined,
    );
  }

  ignore(): void {
    this.#watching?.abort();
    this.#watching = undefined;
  }
}
