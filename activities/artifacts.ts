import type { AttemptArtifacts } from '../src/artifacts/context-artifacts.ts';
import { SavedArtifacts } from '../src/artifacts/saved-artifacts.ts';
import { ServiceArtifacts } from '../src/artifacts/service-artifacts.ts';
import type { SessionNames } from '../src/store/sessions/session-names.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { settingsOf } from './deployment.ts';

type Dependencies = Pick<ActivityDependencies, 'artifacts' | 'deployment' | 'store'>;

/** A call, or a step by its key, whose outcome records the versions that its user code saves. */
interface Recorder {
  session: string;
  callKey: string;
}

/** Artifacts as an attempt of a call or a step sees them: in the store, or in the app's own service. */
export function attemptArtifacts(
  { store, artifacts: bytes, deployment }: Dependencies,
  names: SessionNames,
  recorder: Recorder,
  signal: AbortSignal,
): AttemptArtifacts {
  const { session, callKey } = recorder;
  const { artifactService: service } = settingsOf(deployment, names.app);
  if (service === undefined) {
    return SavedArtifacts.withOutcome({ store, bytes, app: names.app, signal }, { session, key: callKey });
  }
  return new ServiceArtifacts({
    service,
    names: async () => (await store.artifacts.sharedBy(session)) ?? names,
    once: {
      get: (key) => store.turns.askOnce({ session, callKey, key }),
      put: (key, value) => store.turns.recordOnce({ session, callKey, key, value }),
    },
  });
}

/** Artifacts for user code around a turn's steps: versions are recorded at once, each once by `key`. */
export function artifactsAtOnce(
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
