import type { RateLimit } from './token-buckets.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

/** Access to a gateway, besides that of programs on its own machine. */
export interface AccessSettings {
  /**
   * Whether callers may use the API keys that `holdfast keys create` makes.
   *
   * @default true
   */
  keys?: boolean;
  /**
   * Names by which callers reach the gateway beside that of `publicUrl`, by https: values of `Host`, with their ports where they aren't
   * 443. Requests for other names are refused.
   */
  hosts?: readonly string[];
  /** Issuers that authenticate callers, by tokens that they sign. */
  issuers?: readonly TrustedIssuer[];
  /**
   * How many proxies of the operator stand in front of the gateway, `true` for one: each adds the address that it sees to
   * `X-Forwarded-For`, which is trusted so far. Without a proxy `X-Forwarded-*` is ignored.
   *
   * @default false
   */
  trustProxy?: boolean | number;
  /** How much callers may ask of each process that serves the gateway. */
  rateLimits?: {
    /**
     * Of each principal.
     *
     * @default { perSecond: 50, burst: 200 }
     */
    principals?: RateLimit;
    /**
     * Of each address, for requests that are refused since nothing says who sends them.
     *
     * @default { perSecond: 10, burst: 50 }
     */
    strangers?: RateLimit;
    /**
     * Streams that each principal may have open at once.
     *
     * @default 256
     */
    streams?: number;
  };
}

export const ACCESS_SETTINGS: readonly string[] = [
  'keys',
  'hosts',
  'issuers',
  'trustProxy',
  'rateLimits',
] satisfies (keyof AccessSettings)[];
