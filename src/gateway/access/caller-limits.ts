import { routePath } from 'hono/route';
import type { DeniedKind } from '../../contract/keys.ts';
import type { GatewayContext, GatewayMiddleware } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import type { Principal } from './access.ts';
import { accessRequestOf } from './access-request.ts';
import { callerAddress, networkOf } from './caller-address.ts';
import { DenialLog } from './denial-log.ts';
import { TokenBuckets } from './token-buckets.ts';

const PRINCIPALS = { perSecond: 50, burst: 200 };
const STRANGERS = { perSecond: 10, burst: 50 };

/** Limits for strangers who try credentials. */
const REFUSED = new Set([401, 403, 404, 405]);

const REASONS: Readonly<Record<number, string>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not-found',
  405: 'not-found',
  429: 'rate-limited',
};

/** Limits of how often callers may ask, and the count of what they are refused. */
export class CallerLimits {
  readonly #principals: TokenBuckets;
  readonly #strangers: TokenBuckets;
  readonly #proxies: number;
  readonly #denials: DenialLog | undefined;

  constructor({ records, settings, logger }: Pick<GatewayOptions, 'records' | 'settings' | 'logger'>) {
    const { rateLimits = {}, trustProxy = false } = settings?.access ?? {};
    this.#principals = new TokenBuckets(rateLimits.principals ?? PRINCIPALS);
    this.#strangers = new TokenBuckets(rateLimits.strangers ?? STRANGERS);
    this.#proxies = Number(trustProxy);
    this.#denials = records && new DenialLog(records.keys, logger);
  }

  /** Writes down what was refused. */
  async flush(): Promise<void> {
    await this.#denials?.flush();
  }

  /**
   * Sees each request and its answer. A refused unknown caller uses up the limit of unknown callers of its address. A good key or
   * token is let in from there as before, so that callers of one proxy don't lock each other out.
   */
  readonly watch: GatewayMiddleware = async (context, next) => {
    const address = callerAddress(accessRequestOf(context), this.#proxies);
    const network = address === undefined ? undefined : networkOf(address);
    await next();
    const { status } = context.res;
    const principal = context.get('principal');
    const isStranger = principal === undefined && context.get('jobToken') === undefined;
    const denied = context.get('denied');
    const isGuess = context.get('isGuess') === true;
    if (isStranger && (isGuess || REFUSED.has(status))) {
      const wait = network === undefined ? 0 : this.#strangers.take(network);
      const why = isGuess ? 401 : status;
      const reason = wait > 0 ? reasonOf(429) : (denied?.reason ?? reasonOf(why));
      this.#note(context, { ...denied, reason, ...(address && { address }) });
      if (wait > 0) throw tooMany(wait);
      return;
    }
    const who = principal === undefined ? denied?.who : (principal.person ?? principal.name);
    if (who === undefined || (denied === undefined && status !== 429)) return;
    const reason = status === 429 ? reasonOf(429) : (denied?.reason ?? reasonOf(status));
    this.#note(context, { ...denied, reason, who });
  };

  /** @throws RequestRefused where a principal has asked too often. */
  spend(principal: Pick<Principal, 'name' | 'unlimited'>): void {
    if (principal.unlimited) return;
    const wait = this.#principals.take(principal.name);
    if (wait > 0) throw tooMany(wait);
  }

  #note(context: GatewayContext, kind: Omit<DeniedKind, 'route'>): void {
    const pattern = routePath(context, -1);
    const route = pattern === '/*' || pattern === '*' ? 'none' : `${context.req.method} ${pattern}`;
    this.#denials?.note({ ...kind, route });
  }
}

function reasonOf(status: number): string {
  return REASONS[status] ?? 'refused';
}

function tooMany(wait: number): RequestRefused {
  return new RequestRefused('HOLDFAST_GATEWAY_TOO_MANY_REQUESTS', undefined, {
    'retry-after': String(Math.ceil(wait / 1_000)),
  });
}
