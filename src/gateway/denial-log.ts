import type { Denial, DeniedKind } from '../store/store.ts';
import type { GatewayLogger } from './gateway-logger.ts';
import type { GatewayRecords } from './gateway-records.ts';

/** How long denials are counted here before the store hears of them, milliseconds. */
const INTERVAL = 5_000;
/** Kinds that are told apart at once; who sends more of them is told as one. */
const MOST_KINDS = 100;
/** How often old ones are dropped, milliseconds. */
const SWEEP = 3_600_000;
const MINUTE = 60_000;
/** Characters of what callers name. */
const LONGEST = 100;

/** Counts what is refused, and writes it down now and then: a storm of refusals is a few rows. */
export class DenialLog {
  readonly #records: Pick<GatewayRecords, 'noteDenials'>;
  readonly #logger: Pick<GatewayLogger, 'warn'>;
  #counted = new Map<string, Denial>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #swept = Number.NEGATIVE_INFINITY;

  constructor(records: Pick<GatewayRecords, 'noteDenials'>, logger: Pick<GatewayLogger, 'warn'>) {
    this.#records = records;
    this.#logger = logger;
  }

  note(denied: DeniedKind, at = Date.now()): void {
    const { app, ...kind } = denied;
    const named = { ...kind, ...(app === undefined ? {} : { app: app.slice(0, LONGEST) }) };
    this.#add({ ...named, count: 1, firstAt: at, lastAt: at });
    this.#timer ??= setTimeout(() => void this.flush(), INTERVAL).unref();
  }

  /** Writes down what was counted; what can't be written is kept for the next time. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  #add(denial: Denial): void {
    const key = keyOf(denial);
    const known = this.#counted.get(key);
    if (known !== undefined) {
      known.count += denial.count;
      known.firstAt = Math.min(known.firstAt, denial.firstAt);
      known.lastAt = Math.max(known.lastAt, denial.lastAt);
    } else if (this.#counted.size < MOST_KINDS || isOfMany(denial)) this.#counted.set(key, denial);
    else {
      const { reason, count, firstAt, lastAt } = denial;
      this.#add({ reason, route: MANY, count, firstAt, lastAt });
    }
  }

  async #write(): Promise<void> {
    const denials = [...this.#counted.values()];
    if (denials.length === 0) return;
    this.#counted = new Map();
    const now = performance.now();
    const sweep = now - this.#swept > SWEEP;
    try {
      await this.#records.noteDenials(denials, { sweep });
      if (sweep) this.#swept = now;
    } catch (error) {
      this.#logger.warn('what was refused can’t be noted now', { error });
      for (const denial of denials) this.#add(denial);
      this.#timer ??= setTimeout(() => void this.flush(), MINUTE).unref();
    }
  }
}

/** In place of a route's pattern, where there are too many kinds. */
const MANY = 'many';

function isOfMany({ route }: Denial): boolean {
  return route === MANY;
}

/** The minute is part of it: a row is of one. */
function keyOf({ count: _count, firstAt, lastAt: _lastAt, ...kind }: Denial): string {
  return JSON.stringify([Math.floor(firstAt / MINUTE), kind]);
}
