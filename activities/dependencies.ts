import type { Client } from '@temporalio/client';
import type { ArtifactBytes } from '../src/artifacts/artifact-bytes.ts';
import type { CredentialKeys } from '../src/credentials/credential-keys.ts';
import type { Content } from '../src/events/content.ts';
import type { Transcript } from '../src/flows/transcript.ts';
import type { TranscriptCache } from '../src/flows/transcript-cache.ts';
import type { Connections } from '../src/oauth/connections.ts';
import type { SessionNames } from '../src/store/sessions/session-names.ts';
import type { Store } from '../src/store/store.ts';
import type { Deployment } from './deployment.ts';
import type { Logging } from './logging.ts';
import type { Telemetry } from './telemetry/reports.ts';

/** The text of a message without an author. */
export interface OwnMessage extends SessionNames {
  messageId: string;
  message: Content;
  /** The agent of the call that it answers. */
  agent?: string;
}

export interface ActivityDependencies extends Logging {
  deployment: Deployment;
  store: Store;
  transcripts: TranscriptCache;
  telemetry: Telemetry;
  /** Bytes of artifacts. */
  artifacts: ArtifactBytes;
  credentials: Connections;
  /** Where people read a session's transcript; undefined where nobody has said so. */
  transcriptUrl: ((names: SessionNames) => string) | undefined;
  /** Whether the server knows Holdfast's search attributes. */
  searchAttributes: boolean;
  /** Where services outside reach the gateway; undefined where nobody has said so. Asked when it is needed: a port may come late. */
  publicUrl: () => string | undefined;
  /** Sign the tokens of jobs; undefined where there are none. */
  credentialKeys: CredentialKeys | undefined;
  /** In activities only: tells workflows what they wait for. */
  temporal: () => Pick<Client, 'activity' | 'workflow' | 'withAbortSignal' | 'withDeadline'>;
  /** In activities only: begins a turn, or has it wait for the one that runs; as a client does. */
  sendMessage: (message: OwnMessage) => Promise<void>;
  /**
   * Whether Temporal and the logs get no texts of tools and models but those that a codec encodes: messages of failures
   * and log lines then name codes, tools and keys only. Read it when it is needed: it isn't known before the worker is.
   */
  readonly conceal: boolean;
}

/** The transcript of a session as it is by now, for an activity that opens no step of it. */
export async function currentTranscript(
  { store, transcripts }: Pick<ActivityDependencies, 'store' | 'transcripts'>,
  session: string,
  names: SessionNames,
): Promise<Transcript> {
  return await transcripts.current(session, names, (after) =>
    store.sessions.readEvents({ ...names, after, limit: Number.MAX_SAFE_INTEGER }),
  );
}
