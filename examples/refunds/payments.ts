import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface Payment {
  receipt: string;
  booking: string;
  cents: number;
}

const TABLE = `
  create table if not exists payments (
    id integer primary key autoincrement,
    idempotency_key text not null unique,
    booking text not null,
    cents integer not null check (cents > 0)
  ) strict`;

const ROW = `select printf('R-%04d', id) as receipt, booking, cents from payments`;

/** What was paid back: a table that knows nothing of agents and approvals, as a payment service's would be. */
export class Payments {
  readonly #database: DatabaseSync;

  /** @param file is made where it is missing; any number of processes may have it open. */
  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    this.#database = new DatabaseSync(file, { timeout: 5_000 });
    this.#database.exec(TABLE);
  }

  /** Pays, or returns the payment that was made under this key before. */
  pay(idempotencyKey: string, booking: string, cents: number): Payment {
    this.#database
      .prepare(
        'insert into payments (idempotency_key, booking, cents) values (?, ?, ?) on conflict do nothing',
      )
      .run(idempotencyKey, booking, cents);
    const made = this.#database.prepare(`${ROW} where idempotency_key = ?`).get(idempotencyKey);
    const payment = { ...(made as unknown as Payment) };
    if (payment.booking === booking && payment.cents === cents) return payment;
    throw new Error(`the key of this payment belongs to ${payment.receipt}, of another booking or amount`);
  }

  /** The oldest first. */
  all(): Payment[] {
    const rows = this.#database.prepare(`${ROW} order by id`).all();
    return rows.map((row) => ({ ...(row as unknown as Payment) }));
  }

  close(): void {
    this.#database.close();
  }
}

/** The file that REFUNDS_PAYMENTS names, else one beside the sessions. */
export function paymentsFile(): string {
  return resolve(process.env.REFUNDS_PAYMENTS || join('.holdfast', 'refunds.sqlite'));
}

let opened: Payments | undefined;

/** The theatre's payments. */
export function theatrePayments(): Payments {
  opened ??= new Payments(paymentsFile());
  return opened;
}
