import type { ApiKeys } from './access/api-keys.ts';
import type { CallerLimits } from './access/caller-limits.ts';
import type { SignInIssuer } from './access/trusted-issuer.ts';
import type { GatewayAttester } from './approvals/gateway-attester.ts';
import type { Background } from './background.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { OpenStreams } from './turns/open-streams.ts';

/** Dependencies that the routes of a gateway share. */
export interface RouteSetting {
  options: GatewayOptions;
  streams: OpenStreams;
  /** How often callers may ask. */
  limits: CallerLimits;
  /** Signs who decides and who sends. */
  attester: GatewayAttester;
  /** Keys of the store; undefined for a gateway without keys. */
  keys: ApiKeys | undefined;
  /** Issuers at which people may sign in. */
  issuers: readonly SignInIssuer[];
  /** Whether people can sign in to the inbox. */
  hasInbox: boolean;
  /** Aborted when the gateway closes. */
  closing: AbortSignal;
  /** Work after an answer. */
  background: Background;
}
