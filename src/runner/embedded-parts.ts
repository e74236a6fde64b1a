import type { Ground as OpenedGround } from '../../worker/embedded/open-ground.ts';

export type Ground = OpenedGround;
export type { JobGateway } from '../../worker/embedded/job-gateway.ts';

/**
 * What an embedded environment is made of, loaded with its first start: a program that imports `holdfast` loads neither worker
 * nor Temporal. The only place of the library that knows of them.
 */
export async function loadEmbeddedParts() {
  const [
    worker,
    ground,
    closing,
    ending,
    progress,
    runtime,
    logger,
    config,
    embedded,
    testing,
    client,
    temporal,
    gateway,
    version,
  ] = await Promise.all([
    import('../../worker/index.ts'),
    import('../../worker/embedded/open-ground.ts'),
    import('../../worker/closing.ts'),
    import('../../worker/embedded/end-with-process.ts'),
    import('../../worker/embedded/slow-progress.ts'),
    import('../../worker/embedded/quiet-runtime.ts'),
    import('../../worker/embedded/warning-logger.ts'),
    import('../../worker/temporal/client-config.ts'),
    import('../../worker/temporal/embedded.ts'),
    import('../testing/offer-gemini.ts'),
    import('../client/holdfast-client.ts'),
    import('@temporalio/client'),
    import('../../worker/embedded/job-gateway.ts'),
    import('../own-version.ts'),
  ]);
  return {
    acquireFolder: worker.acquireFolder,
    createWorker: worker.createWorker,
    openGround: ground.openGround,
    Closing: closing.Closing,
    endWithProcess: ending.endWithProcess,
    slowProgress: progress.slowProgress,
    quietRuntime: runtime.quietRuntime,
    warningLogger: logger.warningLogger,
    withoutServer: config.withoutServer,
    stopEmbedded: embedded.stopEmbedded,
    offerGemini: testing.offerGemini,
    HoldfastClient: client.HoldfastClient,
    TemporalClient: temporal.Client,
    openJobGateway: gateway.openJobGateway,
    ownVersion: version.ownVersion,
  };
}

export type EmbeddedParts = Awaited<ReturnType<typeof loadEmbeddedParts>>;
