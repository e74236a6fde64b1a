import type { CancelCall } from '../../src/contract/turns.ts';

/** The orders that are kept from run to run. */
export interface OrderBook {
  /** By order id, what was answered; the newest ones. */
  orders?: Record<string, unknown>;
}

const MOST_ORDERS = 50;

type Order = Pick<CancelCall, 'orderId'>;

/** Orders that come by update and, since nobody answered, once more by signal. */
export class Orders {
  readonly #book: OrderBook;
  readonly #receipts: Map<string, unknown>;

  constructor(book: OrderBook) {
    this.#book = book;
    this.#receipts = new Map(Object.entries(book.orders ?? {}));
  }

  knows({ orderId }: Order): boolean {
    return orderId !== undefined && this.#receipts.has(orderId);
  }

  /** Carries an order out, or answers one that was carried out before. */
  once<Receipt>({ orderId }: Order, apply: () => Receipt): Receipt {
    if (orderId === undefined) return apply();
    const receipts = this.#receipts;
    if (receipts.has(orderId)) return receipts.get(orderId) as Receipt;
    const receipt = apply();
    receipts.set(orderId, receipt);
    for (const [oldest] of receipts) {
      if (receipts.size <= MOST_ORDERS) break;
      receipts.delete(oldest);
    }
    // Unlike an assignment, this takes an id `__proto__` for what it is.
    this.#book.orders = Object.fromEntries(receipts);
    return receipt;
  }
}

/**
 * Order of signals and updates from before a run began: Temporal delivers them handler by handler. Signals came first: an update
 * counts from the time at which a worker has taken it.
 */
export class FirstOrder {
  #waiting: (() => void)[] | undefined = [];

  /** Handles a signal, after those that came before it. */
  signalled(handle: () => void): void {
    if (this.#waiting === undefined) handle();
    else this.#waiting.push(handle);
  }

  /** An update is about to be handled. */
  updated(): void {
    this.#handle(this.#waiting?.splice(0) ?? []);
  }

  /** All that came before the run has been handed over. */
  open(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#handle(waiting);
  }

  #handle(waiting: readonly (() => void)[]): void {
    for (const handle of waiting) handle();
  }
}
