import type { AttemptArtifacts } from '../src/artifacts/context-artifacts.ts';
import { SavedArtifacts } from '../src/artifacts/saved-artifacts.ts';
import { ServiceArtifacts } from '../src/artifacts/service-artifacts.ts';
import { corporaOf } from '../src/memory/corpus-search.ts';
import { storedMemoryService } from '../src/memory/stored-memory-service.ts';
import { ServiceMemory, UserMemory } from '../src/memory/user-memory.ts';
import type { SessionNames } from '../src/store/sessions/session-names.ts';
import type { BaseTool } from '../src/tools/base-tool.ts';
import type { ContextServices } from '../src/tools/context-services.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { settingsOf } from './deployment.ts';
import { CallCredentials } from './tool/call-context.ts';
import { describeFailure } from './tool/tool-failure.ts';

type Dependencies = Pick<
  ActivityDependencies,
  'artifacts' | 'credentials' | 'deployment' | 'store' | 'logger' | 'conceal'
>;

/** A call, or a step by its key, whose outcome records the versions that its user code saves. */
interface Recorder {
  session: string;
  callKey: string;
}

/**
 * Services as an attempt of a call or a step sees them: in the store, or of the app's own.
 *
 * @param tool of the call: artifacts are marked by it.
 */
export function attemptServices(
  dependencies: Dependencies,
  names: SessionNames,
  recorder: Recorder,
  signal: AbortSignal,
  tool?: Pick<BaseTool, 'trusted'>,
): ContextServices & { artifacts: AttemptArtifacts } {
  const artifacts = attemptArtifacts(dependencies, names, recorder, signal, tool);
  const credentials = new CallCredentials(dependencies, names);
  return { artifacts, credentials, ...memoryOf(dependencies, names, recorder.callKey, signal) };
}

/** Services for user code around a turn's steps: versions of artifacts are recorded at once, each once by `key`. */
export function servicesAtOnce(
  dependencies: Dependencies,
  names: SessionNames,
  { session, key }: { session: string | undefined; key: string },
  signal: AbortSignal,
): ContextServices {
  const artifacts = artifactsAtOnce(dependencies, names, { session, key }, signal);
  const credentials = new CallCredentials(dependencies, names);
  return { artifacts, credentials, ...memoryOf(dependencies, names, key, signal) };
}

function attemptArtifacts(
  { store, artifacts: bytes, deployment }: Dependencies,
  names: SessionNames,
  { session, callKey }: Recorder,
  signal: AbortSignal,
  tool: Pick<BaseTool, 'trusted'> | undefined,
): AttemptArtifacts {
  const { artifactService: service, markUntrusted } = settingsOf(deployment, names.app);
  const marks = markUntrusted ? { trusted: tool?.trusted } : undefined;
  if (service === undefined) {
    const of = { store, bytes, app: names.app, signal, marks };
    return SavedArtifacts.withOutcome(of, { session, key: callKey });
  }
  return new ServiceArtifacts({
    service,
    marks,
    names: async () => (await store.artifacts.sharedBy(session)) ?? names,
    once: {
      get: (key) => store.turns.askOnce({ session, callKey, key }),
      put: (key, value) => store.turns.recordOnce({ session, callKey, key, value }),
    },
  });
}

function artifactsAtOnce(
  { store, artifacts: bytes, deployment }: Dependencies,
  names: SessionNames,
  { session, key }: { session: string | undefined; key: string },
  signal: AbortSignal,
): AttemptArtifacts {
  const { artifactService: service } = settingsOf(deployment, names.app);
  if (service === undefined)
    return SavedArtifacts.atOnce({ store, bytes, app: names.app, signal }, names, key);
  const shared = async () => session && (await store.artifacts.sharedBy(session));
  return new ServiceArtifacts({ service, names: async () => (await shared()) || names });
}

function memoryOf(
  { store, deployment, logger, conceal }: Dependencies,
  owner: SessionNames,
  key: string,
  signal: AbortSignal,
): Pick<ContextServices, 'corpora' | 'memory' | 'memoryService'> {
  const { memory } = settingsOf(deployment, owner.app);
  const warnOf = (text: string) => (error: unknown) =>
    logger.warn(text, {
      app: owner.app,
      ...(conceal ? {} : { problem: describeFailure(error).message }),
    });
  const corpora = corporaOf({
    ...{ store, app: owner.app, embeddings: memory?.embeddings, signal },
    warn: warnOf('a corpus was searched by words only: the query could not be embedded'),
  });
  if (memory === undefined) return { corpora };
  const { service, results, embeddings, include } = memory;
  if (service !== undefined) {
    const warn = warnOf('the memory service of the app failed in a search');
    return { corpora, memory: new ServiceMemory(service, owner, signal, warn), memoryService: service };
  }
  const warn = warnOf('memories were searched by words only: the query could not be embedded');
  const init = { store, results, embeddings, signal, key, warn };
  return {
    corpora,
    memory: new UserMemory({ ...init, owner }),
    memoryService: storedMemoryService({ ...init, include }),
  };
}
