import type { Part } from '../events/content.ts';
import { defined } from '../protocol/json.ts';
import { toJsonValue } from '../schema/json-value.ts';
import type { ArtifactContent, SavedArtifact, StoredArtifact } from '../store/artifacts/artifact-store.ts';
import type { Store } from '../store/store.ts';
import type { ArtifactBytes } from './artifact-bytes.ts';
import { type ArtifactStream, keptContent, partOf } from './artifact-content.ts';
import { checkArtifactName } from './artifact-name.ts';
import type { ContextArtifacts, OpenArtifactOptions, OpenedArtifact } from './context-artifacts.ts';

export interface SavedArtifactsInit {
  store: Pick<Store, 'artifacts' | 'blobs'>;
  bytes: ArtifactBytes;
  app: string;
  /** The store's id of the session. */
  session: string;
  /** Of the call or the step that saves. */
  key: string;
  signal?: AbortSignal;
}

/**
 * Artifacts as one attempt of a call, or of a step, sees them: those that are recorded, and those that it has saved itself, which are
 * recorded with its outcome. Another attempt that saves in the same order gets the same versions.
 */
export class SavedArtifacts implements ContextArtifacts {
  readonly #init: SavedArtifactsInit;
  readonly #saved: SavedArtifact[] = [];
  readonly #counts = new Map<string, number>();

  constructor(init: SavedArtifactsInit) {
    this.#init = init;
  }

  /** To be recorded with the outcome. */
  get saved(): readonly SavedArtifact[] {
    return this.#saved;
  }

  async save(
    name: string,
    artifact: Part | ArtifactStream,
    metadata?: Record<string, unknown>,
  ): Promise<number> {
    checkArtifactName(name);
    const { store, bytes, app, session, key, signal } = this.#init;
    const json = metadata === undefined ? undefined : (toJsonValue(metadata) as Record<string, unknown>);
    // Before anything is waited for: saves of one name have the order in which they were begun.
    const nth = this.#counts.get(name) ?? 0;
    this.#counts.set(name, nth + 1);
    const content = await keptContent(bytes, app, artifact, signal);
    const version = await store.artifacts.reserveVersion({ session, key, name, nth });
    this.#saved.push({ name, version, ...content, ...defined({ metadata: json }) });
    return version;
  }

  async load(name: string, version?: number): Promise<Part | undefined> {
    const found = await this.#find(name, version);
    return found && partOf(this.#init.bytes, name, found.content);
  }

  async open(
    name: string,
    { version, start, end }: OpenArtifactOptions = {},
  ): Promise<OpenedArtifact | undefined> {
    const found = await this.#find(name, version);
    if (found === undefined) return undefined;
    const { content } = found;
    if (content.kind === 'file')
      return { version: found.version, fileUri: content.uri, ...defined({ mimeType: content.mimeType }) };
    const { store, bytes } = this.#init;
    const blob = await store.blobs.find(content.blob);
    return {
      version: found.version,
      mimeType: content.kind === 'text' ? 'text/plain; charset=utf-8' : content.mimeType,
      ...(blob === undefined ? {} : { size: blob.size, sha256: blob.sha256 }),
      bytes: bytes.read(content.blob, defined({ start, end })),
    };
  }

  async list(): Promise<string[]> {
    const { store, session } = this.#init;
    const recorded = await store.artifacts.names({ session });
    return [...new Set([...recorded, ...this.#saved.map(({ name }) => name)])].sort();
  }

  async #find(
    name: string,
    version: number | undefined,
  ): Promise<Pick<StoredArtifact, 'version' | 'content'> | undefined> {
    checkArtifactName(name);
    const { store, session } = this.#init;
    const own = this.#saved
      .filter((saved) => saved.name === name && (version === undefined || saved.version === version))
      .reduce<SavedArtifact | undefined>(
        (newest, saved) => (newest && newest.version > saved.version ? newest : saved),
        undefined,
      );
    const recorded = await store.artifacts.find({ session }, name, version);
    if (own === undefined || (recorded !== undefined && recorded.version > own.version)) return recorded;
    const { name: _name, version: of, metadata: _metadata, ...content } = own;
    return { version: of, content: content as ArtifactContent };
  }
}
