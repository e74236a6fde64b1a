import { hasCode } from '../../contract/error.ts';
import type { Denial, DeniedKind } from '../../contract/keys.ts';
import type { GatewayLogger } from '../gateway-logger.ts';
import type { GatewayRecords } from '../gateway-records.ts';

/** How long denials are counted here before the store hears of them, milliseconds. */
const INTERVAL = 5_000;
/** Kinds of refusals of a caller that are listed apart at once; further ones are listed as one. */
const MOST_KINDS = 100;
/** How often old ones are dropped, milliseconds. */
const SWEEP = 3_600_000;
const MINUTE = 60_000;
/** Characters of what callers name, and of their names. */
const LONGEST = 200;

/** Counts what is refused, and writes it down now and then: a storm of refusals is a few rows. */
export class DenialLog {
  readonly #records: Pick<GatewayRecords['keys'], 'noteDenials'>;
  readonly #logger: Pick<GatewayLogger, 'warn' | 'error'>;
  #counted = new Map<string, Denial>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #swept = Number.NEGATIVE_INFINITY;

  constructor(
    records: Pick<GatewayRecords['keys'], 'noteDenials'>,
    logger: Pick<GatewayLogger, 'warn' | 'error'>,
  ) {
    this.#records = records;
    this.#logger = logger;
  }

  note(denied: DeniedKind, at = Date.now()): void {
    this.#add({ ...storableKind(denied), count: 1, firstAt: at, lastAt: at });
    this.#timer ??= setTimeout(() => void this.flush(), INTERVAL).unref();
  }

  /** Writes down what was counted; while the store is away, it is kept for the next time. */
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
      if (!hasCode(error, 'HOLDFAST_STORE_UNAVAILABLE')) {
        this.#logger.error('what was refused can’t be noted, and is dropped', {
          kinds: denials.length,
          error,
        });
        return;
      }
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

/** As the store keeps it: two that it can't tell apart would be one row of it twice. */
function storableKind({ reason, route, who, address, permission, app }: DeniedKind): DeniedKind {
  const kind: DeniedKind = { reason, route };
  for (const [name, text] of Object.entries({ who, address, permission, app })) {
    if (text !== undefined)
      Object.assign(kind, { [name]: text.slice(0, LONGEST).toWellFormed().replaceAll('\0', '\ufffd') });
  }
  return kind;
}

/** The minute is part of it: a row is of one. */
function keyOf({ count: _count, firstAt, lastAt: _lastAt, ...kind }: Denial): string {
  return JSON.stringify([Math.floor(firstAt / MINUTE), kind]);
}
