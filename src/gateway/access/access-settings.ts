import type { TrustedIssuer } from './trusted-issuer.ts';

/** Who may use a gateway, beside programs of its own machine. */
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
  /** Those who say who callers are, by tokens that they sign. */
  issuers?: readonly TrustedIssuer[];
}

export const ACCESS_SETTINGS: readonly string[] = [
  'keys',
  'hosts',
  'issuers',
] satisfies (keyof AccessSettings)[];
