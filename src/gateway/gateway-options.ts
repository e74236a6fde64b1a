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
  /** Does what is asked for. */
  client: HoldfastApi;
  /** Asked for each answer that needs it, so that it may change. */
  about: () => GatewayAbout;
  /** Says of each thing that the gateway needs whether it answers now: `temporal`, `store`. See {@link readiness}. */
  ready: () => Promise<Readiness>;
  /** Who may use it: {@link localAccess}, {@link networkAccess}. */
  access: Access;
  /**
   * The store, for what the gateway itself keeps there. Without it no link decides, there is no inbox,
   * and no denials are noted.
   */
  records?: GatewayRecords;
  /** What {@link defineGateway} has made. Its `access` is part of `access` already: see {@link configuredAccess}. */
  settings?: GatewaySettings;
  /**
   * The workers' credential keys: with them the gateway attests who decides and who sends, which they believe. Without them a
   * decision counts only where a request takes plain ones.
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
  /** Gets a line for each request, without names of users and without contents, and the errors that nobody is told. */
  logger: GatewayLogger;
}
