import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

interface SoakLine {
  callKey: string;
  attempt: number;
  pid: number;
  /** Milliseconds since the epoch. */
  at: number;
}

/** What the processes that are killed leave outside of themselves. */
export type SoakEffect = SoakLine &
  (
    | {
        /** The ledger has said that this attempt may run. */
        kind: 'begun';
        /** When the ledger was asked, milliseconds since the epoch. */
        asked: number;
      }
    | { kind: 'effect'; tool: string; n: number }
    /** The action behind `once` has run. */
    | { kind: 'charged' }
    /** The ledger has said that the result of `once` is recorded. */
    | { kind: 'recorded' }
    /** The ledger has said that the call is settled. */
    | { kind: 'settled' }
    /** A plugin has heard that the call is completed. */
    | { kind: 'heard' }
  );

type Unstamped<T> = T extends unknown ? Omit<T, 'pid' | 'at'> : never;

/** A folder outside of the processes that are killed: one write is one system call, which is made or not. */
export class SoakEffects {
  readonly #log: string;
  readonly #charges: string;
  readonly #failures: string;

  constructor(folder: string) {
    this.#log = join(folder, 'effects.jsonl');
    this.#charges = join(folder, 'charges');
    this.#failures = join(folder, 'failures');
    for (const path of [this.#charges, this.#failures]) mkdirSync(path, { recursive: true });
  }

  note(effect: Unstamped<SoakEffect>): void {
    appendFileSync(this.#log, `${JSON.stringify({ ...effect, pid: process.pid, at: Date.now() })}\n`);
  }

  read(): SoakEffect[] {
    if (!existsSync(this.#log)) return [];
    const lines = readFileSync(this.#log, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  }

  /** A payment service that heeds idempotency keys: the first charge of a key counts, later ones get it back. */
  charge(idempotencyKey: string, attempt: number): { attempt: number } {
    const file = join(this.#charges, encodeURIComponent(idempotencyKey));
    try {
      writeFileSync(file, JSON.stringify({ attempt }), { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    return { attempt };
  }

  /** Call keys of the charges that were made: their idempotency keys begin with the session's id. */
  charges(): string[] {
    return readdirSync(this.#charges).map((file) => decodeURIComponent(file.slice(file.indexOf('.') + 1)));
  }

  /** Counts a failure of a call's own; returns how many there are with it. */
  countFailure(callKey: string): number {
    const file = join(this.#failures, encodeURIComponent(callKey));
    appendFileSync(file, 'x');
    return statSync(file).size;
  }

  failuresOf(callKey: string): number {
    const file = join(this.#failures, encodeURIComponent(callKey));
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  }
}
