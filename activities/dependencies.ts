import type { TranscriptCache } from '../src/flows/transcript-cache.ts';
import type { Store } from '../src/store/store.ts';
import type { Deployment } from './deployment.ts';

/** What a worker tells an operator; the shape of Temporal's own logger. */
export interface ActivityLogger {
  warn(message: string, attributes?: Record<string, unknown>): void;
}

export interface ActivityDependencies {
  deployment: Deployment;
  store: Store;
  transcripts: TranscriptCache;
  logger: ActivityLogger;
  /** Whether the server knows Holdfast's search attributes. */
  searchAttributes: boolean;
}
