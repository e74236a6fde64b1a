import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { GatewayAbout } from '../contract/about.ts';
import type { GivenCredentialKeys } from '../credentials/credential-keys.ts';
import type { Access } from './access/access.ts';
import type { GatewayLogger } from './gateway-logger.ts';
import type { GatewayRecords } from './gateway-records.ts';
import type { GatewaySettings } from './gateway-settings.ts';
import type { Readiness } from './health/readiness.ts';

/** Options of {@link createGateway}. */
export interface GatewayOptions {
  /** Does the work of the requests. */
  client: HoldfastApi;
  /** Asked for each answer that needs it, so that it may change. */
  about: () => GatewayAbout;
  /** Says of each thing that the gateway needs whether it answers now: `temporal`, `store`. See {@link readiness}. */
  ready: () => Promise<Readiness>;
  /** Access rules: {@link localAccess}, {@link networkAccess}. */
  access: Access;
  /** The store, for the gateway's own records. Without it no link decides, there is no inbox, and denials aren't noted. */
  records?: GatewayRecords;
  /** Settings of {@link defineGateway}. Their `access` is part of `access` already: see {@link configuredAccess}. */
  settings?: GatewaySettings;
  /**
   * The workers' credential keys: with them the gateway attests deciders and senders, and workers trust it. Without them a decision
   * counts only if its request takes plain decisions.
   */
  credentialKeys?: GivenCredentialKeys;
  /** Where browsers reach it, as `https://agents.example.com`; a path is that of a proxy in front of it. Defaults to that of `settings`. */
  publicUrl?: string;
  /**
   * Bytes of a request's body, at most; larger ones are refused. Other routes than those of messages, new sessions and jobs take 4 MiB
   * at most.
   *
   * @default 16 MiB
   */
  bodyLimit?: number;
  /**
   * Milliseconds after which a stream with nothing to say sends a comment.
   *
   * @default 15_000
   */
  keepAlive?: number;
  /** Gets a line for each request, without names of users and without contents, and the errors that callers aren't told. */
  logger: GatewayLogger;
}
