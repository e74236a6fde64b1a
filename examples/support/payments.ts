import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface Payment {
  receipt: string;
  orderId: string;
  cents: number;
  reason: string;
  paidAt: string;
}

export interface PaymentOrder {
  /** One payment for each key, however often it is asked for. */
  idempotencyKey: string;
  orderId: string;
  cents: number;
  reason: string;
  /** All payments of the order together may not be more. */
  atMostCents: number;
}

/** More was asked for than there is left to pay back. */
export class OverRefund extends Error {
  override readonly name = 'OverRefund';
  readonly leftCents: number;

  constructor(leftCents: number) {
    super(`only ${leftCents} cents are left`);
    this.leftCents = leftCents;
  }
}

const TABLE = `
  create table if not exists payments (
    id integer primary key autoincrement,
    idempotency_key text not null unique,
    order_id text not null,
    cents integer not null check (cents > 0),
    reason text not null,
    paid_at text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
  ) strict;
  create index if not exists payments_of_order on payments (order_id)`;

const ROW = `
  select printf('R-%06d', id) as receipt, order_id as orderId, cents, reason, paid_at as paidAt from payments`;

/** What the shop has paid back: a table that knows nothing of agents, as a payment service's would be. */
export class Payments {
  readonly #database: DatabaseSync;

  /** @param file is made where it is missing; any number of processes may have it open. */
  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    this.#database = new DatabaseSync(file, { timeout: 5_000 });
    this.#database.exec(TABLE);
  }

  /**
   * Pays, or returns the payment that was made under this key before.
   *
   * @throws OverRefund telling what is left.
   * @throws Error where the key belongs to another payment.
   */
  pay({ idempotencyKey, orderId, cents, reason, atMostCents }: PaymentOrder): Payment {
    return this.#alone(() => {
      const made = this.#database.prepare(`${ROW} where idempotency_key = ?`);
      const before = made.get(idempotencyKey) as Payment | undefined;
      if (before !== undefined) {
        if (before.orderId === orderId && before.cents === cents) return { ...before };
        throw new Error(`the key of this payment belongs to ${before.receipt}, of another order or amount`);
      }
      const leftCents = atMostCents - this.paidCents(orderId);
      if (cents > leftCents) throw new OverRefund(Math.max(0, leftCents));
      this.#database
        .prepare('insert into payments (idempotency_key, order_id, cents, reason) values (?, ?, ?, ?)')
        .run(idempotencyKey, orderId, cents, reason);
      return { ...(made.get(idempotencyKey) as unknown as Payment) };
    });
  }

  /** Of one order, the oldest first. */
  of(orderId: string): Payment[] {
    const rows = this.#database.prepare(`${ROW} where order_id = ? order by id`).all(orderId);
    return rows.map((row) => ({ ...(row as unknown as Payment) }));
  }

  paidCents(orderId: string): number {
    return this.of(orderId).reduce((sum, { cents }) => sum + cents, 0);
  }

  close(): void {
    this.#database.close();
  }

  /** Nobody else writes between what `action` reads and what it writes. */
  #alone<T>(action: () => T): T {
    this.#database.exec('begin immediate');
    try {
      const result = action();
      this.#database.exec('commit');
      return result;
    } catch (error) {
      this.#database.exec('rollback');
      throw error;
    }
  }
}

const opened = new Map<string, Payments>();

/**
 * The desk's payments: the file that SUPPORT_PAYMENTS names, else one beside the sessions.
 *
 * @throws Error where the file can't be written.
 */
export function deskPayments(): Payments {
  const file = resolve(process.env.SUPPORT_PAYMENTS || join('.holdfast', 'payments.sqlite'));
  const payments = opened.get(file) ?? openedAt(file);
  opened.set(file, payments);
  return payments;
}

function openedAt(file: string): Payments {
  try {
    return new Payments(file);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`the file of payments can't be opened (${code}): SUPPORT_PAYMENTS names another one`, {
      cause,
    });
  }
}
