import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Payment } from './gated-apps.ts';

/** An effect that a tool has had. */
export interface GatedEffect {
  tool: string;
  callKey: string;
  attempt: number;
  args: Payment;
  pid: number;
  /** Milliseconds since the epoch. */
  at: number;
}

/** A file outside of the processes that are killed: one write is one system call, which is made or not. */
export class GatedEffects {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, 'effects.jsonl');
  }

  effect(effect: Omit<GatedEffect, 'pid' | 'at'>): void {
    appendFileSync(this.#file, `${JSON.stringify({ ...effect, pid: process.pid, at: Date.now() })}\n`);
  }

  read(): GatedEffect[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  }
}
