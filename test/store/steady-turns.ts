import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/store-errors.ts';
import { newNames, Turn } from './suite/turns/turn.ts';

/** Turns of two calls, one after another in each of some sessions, that go on until they are told to end. */
export class SteadyTurns {
  /** Events that the store has acknowledged, as `<session> <seq> <kind> <run key>`. */
  readonly acknowledged = new Set<string>();
  readonly failures: StoreUnavailable[] = [];
  turns = 0;
  readonly #store: Store;
  readonly #sessions: SessionNames[];
  #ending = false;
  readonly #running: Promise<unknown>;

  constructor(store: Store, sessions = 8) {
    this.#store = store;
    this.#sessions = Array.from({ length: sessions }, newNames);
    this.#running = Promise.all(this.#sessions.map((names) => this.#run(names)));
    this.#running.catch(() => undefined);
  }

  /** Until some more turns have ended. */
  async more(turns = 20): Promise<void> {
    const enough = this.turns + turns;
    await Promise.race([
      expect.poll(() => this.turns, { interval: 5 }).toBeGreaterThanOrEqual(enough),
      this.#running,
    ]);
  }

  /** Ends the turns that run, and checks that what was acknowledged is there, in order and without a gap. */
  async end(): Promise<void> {
    this.#ending = true;
    await this.#running;
    const recorded = new Set<string>();
    for (const names of this.#sessions) {
      const events = await this.#store.sessions.readEvents({ ...names, limit: 1_000_000 });
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      expect((await this.#store.sessions.find(names))?.seq).toBe(events.length);
      expect(events.map(({ kind }) => kind)).toEqual(
        events.map((_, index) => ['message', 'model', 'responses', 'model'][index % 4]),
      );
      for (const { seq, kind, runKey } of events) recorded.add(placeOf(names, seq, kind, runKey));
    }
    expect(this.acknowledged.size).toBe(this.turns * 4);
    expect([...this.acknowledged].filter((event) => !recorded.has(event))).toEqual([]);
    expect(recorded.size).toBe(this.acknowledged.size);
  }

  async #run(names: SessionNames): Promise<void> {
    while (!this.#ending) {
      const turn = new Turn(this.#store, { names });
      const acknowledge = (seq: number, kind: string) =>
        this.acknowledged.add(placeOf(names, seq, kind, turn.invocationId));
      acknowledge((await this.#insist(() => turn.opened(1))).seq, 'message');
      acknowledge((await this.#insist(() => turn.commit(1, 2))).seq, 'model');
      await Promise.all(
        [0, 1].map(async (index) => {
          await this.#insist(() => turn.begin(1, index));
          const { response } = await this.#insist(() => turn.settle(1, index, { index }));
          expect(response).toEqual({ index });
        }),
      );
      acknowledge((await this.#insist(() => turn.opened(2))).seq, 'responses');
      acknowledge((await this.#insist(() => turn.commit(2, 0))).seq, 'model');
      this.turns += 1;
    }
  }

  /** As Temporal does: again while the store says that it is unavailable. Whatever else is thrown is a failure. */
  async #insist<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        this.failures.push(error);
        await setTimeout(50);
      }
    }
  }
}

function placeOf(names: SessionNames, seq: number, kind: string, runKey: string): string {
  return `${names.app} ${seq} ${kind} ${runKey}`;
}
