import type { MemorySettings } from '../app/memory-settings.ts';
import type {
  BaseArtifactService,
  CompositeSessionKey,
  SessionArtifactService,
} from '../artifacts/base-artifact-service.ts';
import { sessionArtifacts } from '../artifacts/context-artifacts.ts';
import { InvalidTurn } from '../client/client-errors.ts';
import type { HoldfastClient } from '../client/holdfast-client.ts';
import type { BaseMemoryService } from '../memory/base-memory-service.ts';
import type { SessionAccess } from './session-access.ts';

/** The artifacts of a runner's sessions, in the store that it reaches. */
export function artifactServiceOf(access: SessionAccess): BaseArtifactService {
  const at = <T>(key: CompositeSessionKey, run: (artifacts: SessionArtifactService) => Promise<T>) =>
    using<T>(access, 'artifacts', (client) => {
      const { appName: app, userId, sessionId } = key;
      return run(sessionArtifacts(client.artifactService({ app, userId, sessionId })));
    });
  return {
    saveArtifact: (request) => at(request, (artifacts) => artifacts.saveArtifact(request)),
    loadArtifact: (request) => at(request, (artifacts) => artifacts.loadArtifact(request)),
    listArtifactKeys: (request) => at(request, (artifacts) => artifacts.listArtifactKeys()),
    deleteArtifact: (request) => at(request, (artifacts) => artifacts.deleteArtifact(request.filename)),
    listVersions: (request) => at(request, (artifacts) => artifacts.listVersions(request.filename)),
    listArtifactVersions: (request) =>
      at(request, (artifacts) => artifacts.listArtifactVersions(request.filename)),
    getArtifactVersion: (request) => at(request, (artifacts) => artifacts.getArtifactVersion(request)),
  };
}

/** The memory of a runner's app: its own service, or the store that the runner reaches. */
export function memoryServiceOf(access: SessionAccess, settings: MemorySettings): BaseMemoryService {
  const at = <T>(
    run: (memory: Required<Pick<BaseMemoryService, 'addMemory'>> & BaseMemoryService) => Promise<T>,
  ) => using<T>(access, 'memories', (client) => run(client.memoryService(settings)));
  return (
    settings.service ?? {
      addSessionToMemory: (session) => at((memory) => memory.addSessionToMemory(session)),
      searchMemory: (request) => at((memory) => memory.searchMemory(request)),
      addMemory: (request) => at((memory) => memory.addMemory(request)),
    }
  );
}

/** @throws InvalidTurn for a `GatewayClient`, which has no store. */
async function using<T>(
  access: SessionAccess,
  name: 'artifacts' | 'memories',
  run: (client: HoldfastClient) => Promise<T>,
): Promise<T> {
  const { api, release } = await access.hold();
  try {
    if ('memoryService' in api) return await run(api as HoldfastClient);
    throw new InvalidTurn(`this client has no store: use client.${name}, or a HoldfastClient with a store`);
  } finally {
    release();
  }
}
