import type { CredentialVault } from '../src/credentials/credential-vault.ts';
import type { TranscriptCache } from '../src/flows/transcript-cache.ts';
import type { SessionNames, Store } from '../src/store/store.ts';
import type { Deployment } from './deployment.ts';
import type { Logging } from './logging.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

export interface ActivityDependencies extends Logging {
  deployment: Deployment;
  store: Store;
  transcripts: TranscriptCache;
  telemetry: Telemetry;
  /** Opens what tools run by. */
  credentials: Pick<CredentialVault, 'find' | 'open'>;
  /** Where people read a session's transcript; undefined where nobody has said so. */
  transcriptUrl: ((names: SessionNames) => string) | undefined;
  /** Whether the server knows Holdfast's search attributes. */
  searchAttributes: boolean;
  /**
   * Whether Temporal and the logs get no texts of tools and models but those that a codec encodes: messages of failures
   * and log lines then name codes, tools and keys only. Read it when it is needed: it isn't known before the worker is.
   */
  readonly conceal: boolean;
}
