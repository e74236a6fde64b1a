export type { HoldfastLogger } from '../activities/logging.ts';
export type { TracingOptions } from '../activities/telemetry/tracing.ts';
export { TemporalUnreachable } from '../src/client/client-errors.ts';
export { BundleMismatch } from './bundle.ts';
export { createWorker, type WorkerOptions } from './create-worker.ts';
export { acquireFolder, FolderInUse, type FolderOwnership, FolderUnusable } from './folder/lock.ts';
export { histogramBuckets } from './histogram-buckets.ts';
export { type JsonLoggerOptions, jsonLogger } from './json-logger.ts';
export {
  findLocalGateway,
  type LocalGateway,
  type LocalGatewayOptions,
  openLocalGateway,
} from './local-gateway.ts';
export { defaultCacheFolder as cacheFolder } from './temporal/cache-folder.ts';
export { namesServer } from './temporal/client-config.ts';
export { openTemporal, type TemporalOptions, type TemporalTarget } from './temporal/connect.ts';
export { stopEmbedded } from './temporal/embedded.ts';
export {
  TemporalConfigInvalid,
  TemporalStartFailed,
  TemporalUnavailable,
} from './temporal/errors.ts';
export { workflowUrl } from './temporal/ui-link.ts';
