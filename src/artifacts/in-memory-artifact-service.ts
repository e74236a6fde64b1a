import type { Part } from '../events/content.ts';
import { defined } from '../protocol/json.ts';
import { InvalidArtifact } from './artifact-errors.ts';
import { checkArtifactName, USER_PREFIX } from './artifact-name.ts';
import type {
  ArtifactVersion,
  BaseArtifactService,
  CompositeSessionKey,
  DeleteArtifactRequest,
  ListArtifactKeysRequest,
  ListVersionsRequest,
  LoadArtifactRequest,
  SaveArtifactRequest,
} from './base-artifact-service.ts';

interface KeptVersion {
  part: Part;
  about: ArtifactVersion;
}

/**
 * Keeps artifacts in this process, for as long as it runs: for tests, and programs of one process. Semantics: `InMemoryArtifactService` of
 * `@google/adk` 2.0.0; parts are copied, and versions of a deleted artifact begin at 0 again.
 *
 * @example const runner = new InMemoryRunner({ agent, artifactService: new InMemoryArtifactService() });
 */
export class InMemoryArtifactService implements BaseArtifactService {
  /** By scope, then by name. */
  readonly #scopes = new Map<string, Map<string, KeptVersion[]>>();

  /** @throws InvalidArtifactName, InvalidArtifact */
  async saveArtifact({ filename, artifact, customMetadata, ...key }: SaveArtifactRequest): Promise<number> {
    checkArtifactName(filename);
    const { inlineData, text, fileData } = artifact;
    if (inlineData === undefined && text === undefined && fileData === undefined) {
      throw new InvalidArtifact('this is no artifact: expected a part with inlineData, text or fileData');
    }
    const scope = scopeOf(key, filename);
    const names = this.#scopes.get(scope) ?? new Map<string, KeptVersion[]>();
    this.#scopes.set(scope, names);
    const versions = names.get(filename) ?? [];
    names.set(filename, versions);
    const version = versions.length;
    const mimeType = inlineData?.mimeType ?? (text === undefined ? fileData?.mimeType : undefined);
    versions.push({
      part: structuredClone(artifact),
      about: { version, ...defined({ mimeType, customMetadata: structuredClone(customMetadata) }) },
    });
    return version;
  }

  async loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined> {
    return structuredClone(this.#find(request)?.part);
  }

  async listArtifactKeys(key: ListArtifactKeysRequest): Promise<string[]> {
    const scopes = [scopeOf(key, ''), scopeOf(key, USER_PREFIX)];
    return scopes.flatMap((scope) => [...(this.#scopes.get(scope)?.keys() ?? [])]).sort();
  }

  async deleteArtifact({ filename, ...key }: DeleteArtifactRequest): Promise<void> {
    this.#scopes.get(scopeOf(key, filename))?.delete(filename);
  }

  async listVersions(request: ListVersionsRequest): Promise<number[]> {
    return this.#versions(request).map(({ about }) => about.version);
  }

  async listArtifactVersions(request: ListVersionsRequest): Promise<ArtifactVersion[]> {
    return this.#versions(request).map(({ about }) => structuredClone(about));
  }

  async getArtifactVersion(request: LoadArtifactRequest): Promise<ArtifactVersion | undefined> {
    return structuredClone(this.#find(request)?.about);
  }

  #versions({ filename, ...key }: ListVersionsRequest): readonly KeptVersion[] {
    return this.#scopes.get(scopeOf(key, filename))?.get(filename) ?? [];
  }

  #find({ version, ...request }: LoadArtifactRequest): KeptVersion | undefined {
    const versions = this.#versions(request);
    return versions[version ?? versions.length - 1];
  }
}

function scopeOf({ appName, userId, sessionId }: CompositeSessionKey, filename: string): string {
  return JSON.stringify(filename.startsWith(USER_PREFIX) ? [appName, userId] : [appName, userId, sessionId]);
}
