import { LRUCache } from 'lru-cache';

/** How many requests somebody may make: so many a second in the long run, and as many as `burst` at once. */
export interface RateLimit {
  perSecond: number;
  burst: number;
}

/** A caller that wasn't seen for so many others has a full bucket anyway. */
const MOST_KNOWN = 10_000;

interface Bucket {
  tokens: number;
  /** By the monotonic clock. */
  at: number;
}

/** The rest of a limit, for each caller. */
export class TokenBuckets {
  readonly #limit: RateLimit;
  readonly #buckets = new LRUCache<string, Bucket>({ max: MOST_KNOWN });

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  /** @returns milliseconds to wait for the next one; 0 where it was taken. */
  take(who: string): number {
    const bucket = this.#filled(who);
    if (bucket.tokens < 1) return Math.ceil(((1 - bucket.tokens) * 1_000) / this.#limit.perSecond);
    bucket.tokens -= 1;
    this.#buckets.set(who, bucket);
    return 0;
  }

  #filled(who: string): Bucket {
    const { perSecond, burst } = this.#limit;
    const now = performance.now();
    const before = this.#buckets.get(who);
    if (before === undefined) return { tokens: burst, at: now };
    const filled = before.tokens + ((now - before.at) / 1_000) * perSecond;
    return { tokens: Math.min(burst, filled), at: now };
  }
}
