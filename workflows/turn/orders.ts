/** The orders that are kept from run to run. */
export interface OrderBook {
  /** By order id, what was answered; the newest ones. */
  orders?: Record<string, unknown>;
}

const MOST_ORDERS = 50;
const LONGEST_ORDER_ID = 200;

/** Orders that come by update and, since nobody answered, once more by signal. */
export class Orders {
  readonly #book: OrderBook;

  constructor(book: OrderBook) {
    this.#book = book;
  }

  knows(given: unknown): boolean {
    const id = idOf(given);
    return id !== undefined && Object.hasOwn(this.#book.orders ?? {}, id);
  }

  /** Carries an order out, or answers one that was carried out before. */
  once<Receipt>(given: unknown, apply: () => Receipt): Receipt {
    const id = idOf(given);
    if (id === undefined) return apply();
    const { orders = {} } = this.#book;
    if (Object.hasOwn(orders, id)) return orders[id] as Receipt;
    const receipt = apply();
    orders[id] = receipt;
    const ids = Object.keys(orders);
    for (const old of ids.slice(0, Math.max(0, ids.length - MOST_ORDERS))) delete orders[old];
    this.#book.orders = orders;
    return receipt;
  }
}

function idOf(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null || !('orderId' in given)) return undefined;
  const { orderId } = given;
  return typeof orderId === 'string' && orderId.length <= LONGEST_ORDER_ID ? orderId : undefined;
}

/**
 * Order of what was sent before a run began: it is handed over handler by handler, signals and updates apart. Signals came first:
 * an update counts from when a worker has taken it.
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
