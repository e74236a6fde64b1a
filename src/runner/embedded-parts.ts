export type { JobGateway } from '../../worker/embedded/job-gateway.ts';
export type { Environment } from '../../worker/environment/open-environment.ts';

/**
 * The parts of an embedded environment, loaded with its first start: a program that imports `holdfast` loads neither worker
 * nor Temporal. The only place of the library that knows of them.
 */
export async function loadEmbeddedParts() {
  const [
    lock,
    environment,
    worker,
    about,
    ending,
    progress,
    runtime,
    logger,
    config,
    server,
    testing,
    gateway,
  ] = await Promise.all([
    import('../../worker/folder/lock.ts'),
    import('../../worker/environment/open-environment.ts'),
    import('../../worker/environment/running-worker.ts'),
    import('../../worker/environment/environment-gateway.ts'),
    import('../../worker/embedded/end-with-process.ts'),
    import('../../worker/embedded/slow-progress.ts'),
    import('../../worker/environment/install-runtime.ts'),
    import('../../worker/embedded/warning-logger.ts'),
    import('../../worker/temporal/client-config.ts'),
    import('../../worker/temporal/embedded.ts'),
    import('../testing/offer-gemini.ts'),
    import('../../worker/embedded/job-gateway.ts'),
  ]);
  return {
    acquireFolder: lock.acquireFolder,
    openEnvironment: environment.openEnvironment,
    startWorker: worker.startWorker,
    aboutEnvironment: about.aboutEnvironment,
    endWithProcess: ending.endWithProcess,
    slowProgress: progress.slowProgress,
    QUIET_RUNTIME: runtime.QUIET_RUNTIME,
    warningLogger: logger.warningLogger,
    withoutServer: config.withoutServer,
    stopEmbedded: server.stopEmbedded,
    offerGemini: testing.offerGemini,
    openJobGateway: gateway.openJobGateway,
  };
}

export type EmbeddedParts = Awaited<ReturnType<typeof loadEmbeddedParts>>;
