import { setTimeout } from 'node:timers/promises';
import type { Outages, VictimKind } from '../setup/soak-outages.ts';
import { type SeededRandom, seededRandom } from '../setup/soak-random.ts';

/** Something that is killed by SIGKILL and started again at once. */
export interface Victim {
  kind: VictimKind;
  kill(): Promise<void>;
  /** Returns when it works again. */
  start(): Promise<void>;
  /** Can be killed while it starts. */
  restless: boolean;
}

export interface ChaosOptions {
  seed: number;
  victims: readonly Victim[];
  outages: Outages;
  /** Milliseconds until the next kill. */
  every: readonly [least: number, most: number];
  onKill: (kind: VictimKind) => void;
}

/** How often the next kill comes before all is up again. */
const HASTE = 0.2;

/**
 * Kills by turns: each round has all victims, in an order of its own. Most kills hit a system that works, however slow the
 * machine is; some hit what has just been started.
 */
export class Chaos {
  readonly #options: ChaosOptions;
  readonly #random: SeededRandom;
  readonly #starting = new Map<Victim, Promise<void>>();
  readonly #failures: unknown[] = [];
  #kills = 0;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#random = seededRandom(`chaos ${options.seed}`);
  }

  get kills(): number {
    return this.#kills;
  }

  /** Kills so often, then waits until all is up again. */
  async run(kills: number, signal: AbortSignal): Promise<void> {
    const { victims, every } = this.#options;
    let round: Victim[] = [];
    while (this.#kills < kills && !signal.aborted) {
      if (!this.#random.chance(HASTE)) await Promise.all(this.#starting.values());
      await setTimeout(this.#random.between(...every), undefined, { signal });
      if (round.length === 0) round = this.#random.shuffled(victims);
      const at = round.findIndex((victim) => victim.restless || !this.#starting.has(victim));
      if (at !== -1) for (const victim of round.splice(at, 1)) await this.#kill(victim);
      if (this.#failures.length > 0) throw this.#failures[0];
    }
    await Promise.all(this.#starting.values());
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  async #kill(victim: Victim): Promise<void> {
    const { outages, onKill } = this.#options;
    const outage = outages.begin(victim.kind);
    const before = this.#starting.get(victim);
    await victim.kill();
    await before;
    this.#kills += 1;
    onKill(victim.kind);
    const starting = victim
      .start()
      .catch((error: unknown) => void this.#failures.push(error))
      .finally(() => {
        outage.to = Date.now();
        if (this.#starting.get(victim) === starting) this.#starting.delete(victim);
      });
    this.#starting.set(victim, starting);
  }
}
