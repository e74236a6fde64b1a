import { markedMetadata, type Part, trustIn, withTrust } from '../events/content.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { toJsonValue } from '../schema/json-value.ts';
import type {
  ArtifactContent,
  ArtifactOwner,
  SavedArtifact,
  StoredArtifact,
} from '../store/artifacts/artifact-store.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import type { Store } from '../store/store.ts';
import type { ArtifactBytes } from './artifact-bytes.ts';
import { type ArtifactStream, keptContent, partOf } from './artifact-content.ts';
import { checkArtifactName } from './artifact-name.ts';
import type { ArtifactVersion } from './base-artifact-service.ts';
import type {
  AttemptArtifacts,
  ContextArtifacts,
  OpenArtifactOptions,
  OpenedArtifact,
} from './context-artifacts.ts';

export interface SavedArtifactsInit {
  store: Pick<Store, 'artifacts' | 'blobs'>;
  bytes: ArtifactBytes;
  app: string;
  owner: ArtifactOwner;
  /** Has a version of a name, the nth that the attempt saves. */
  versionOf: (save: NamedContent & { nth: number }) => Promise<number>;
  /** The version is recorded by `versionOf`, and not with the outcome. */
  isRecorded?: boolean;
  /** Whether the tool that saves is trusted; left out where the app marks nothing. */
  marks?: { trusted: boolean | undefined } | undefined;
  signal?: AbortSignal;
}

interface NamedContent {
  name: string;
  content: ArtifactContent;
  metadata?: Record<string, unknown>;
}

type Surroundings = Pick<SavedArtifactsInit, 'store' | 'bytes' | 'app' | 'signal' | 'marks'>;

/**
 * Artifacts as one attempt of a call, or of a step, sees them: those that are recorded, and those that it has saved itself. Another
 * attempt that saves in the same order gets the same versions.
 */
export class SavedArtifacts implements AttemptArtifacts {
  readonly #init: SavedArtifactsInit;
  readonly #saved: SavedArtifact[] = [];
  readonly #counts = new Map<string, number>();

  private constructor(init: SavedArtifactsInit) {
    this.#init = init;
  }

  /** For user code of a call or a step: versions are recorded with its outcome. */
  static withOutcome(of: Surroundings, { session, key }: { session: string; key: string }): SavedArtifacts {
    const versionOf: SavedArtifactsInit['versionOf'] = ({ name, nth }) =>
      of.store.artifacts.reserveVersion({ session, key, name, nth });
    return new SavedArtifacts({ ...of, owner: { session }, versionOf });
  }

  /** For user code around a turn's steps: versions are recorded at once. The session is made where it is not there. */
  static atOnce(of: Surroundings, names: SessionNames, key: string): SavedArtifacts {
    const versionOf: SavedArtifactsInit['versionOf'] = async ({ name, nth, content, metadata }) =>
      (await of.store.artifacts.save({
        ...names,
        name,
        content,
        ...defined({ metadata }),
        key: `${key}/${nth}`,
        makesSession: true,
      })) as number;
    return new SavedArtifacts({ ...of, owner: names, versionOf, isRecorded: true });
  }

  get saved(): readonly SavedArtifact[] {
    return this.#saved;
  }

  restore(saved: readonly SavedArtifact[]): void {
    for (const one of saved) {
      const { name, version } = one;
      if (this.#saved.some((known) => known.name === name && known.version === version)) continue;
      this.#saved.push(one);
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    }
  }

  get ofStep(): ContextArtifacts {
    return {
      save: (name, artifact) => this.save(name, artifact),
      load: (name, version) => this.load(name, version),
      open: (name, options) => this.open(name, options),
      list: () => this.list(),
      delete: (name) => this.delete(name),
      versions: (name) => this.versions(name),
    };
  }

  async save(name: string, artifact: Part | ArtifactStream): Promise<number> {
    checkArtifactName(name);
    const { bytes, app, signal, marks, versionOf, isRecorded } = this.#init;
    const given = isRecord(artifact) ? artifact.customMetadata : undefined;
    const own = given === undefined ? undefined : (toJsonValue(given) as Record<string, unknown>);
    const metadata = markedMetadata(own, marks?.trusted);
    // Before anything is waited for: saves of one name have the order in which they were begun.
    const nth = this.#counts.get(name) ?? 0;
    this.#counts.set(name, nth + 1);
    const content = await keptContent(bytes, app, artifact, signal);
    const version = await versionOf({ name, nth, content, ...defined({ metadata }) });
    if (!isRecorded) this.#saved.push({ name, version, ...content, ...defined({ metadata }) });
    return version;
  }

  async load(name: string, version?: number): Promise<Part | undefined> {
    const found = await this.#find(name, version);
    return found && withTrust(await partOf(this.#init.bytes, name, found.content), trustIn(found.metadata));
  }

  async open(
    name: string,
    { version, start, end }: OpenArtifactOptions = {},
  ): Promise<OpenedArtifact | undefined> {
    const found = await this.#find(name, version);
    if (found === undefined) return undefined;
    const { content, metadata } = found;
    const of = { version: found.version, ...defined({ trusted: trustIn(metadata) }) };
    if (content.kind === 'file')
      return { ...of, fileUri: content.uri, ...defined({ mimeType: content.mimeType }) };
    const { store, bytes } = this.#init;
    const blob = await store.blobs.find(content.blob);
    return {
      ...of,
      mimeType: content.kind === 'text' ? 'text/plain; charset=utf-8' : content.mimeType,
      ...(blob === undefined ? {} : { size: blob.size, sha256: blob.sha256 }),
      bytes: bytes.read(content.blob, defined({ start, end })),
    };
  }

  async list(): Promise<string[]> {
    const { store, owner } = this.#init;
    const recorded = await store.artifacts.names(owner);
    return [...new Set([...recorded, ...this.#saved.map(({ name }) => name)])].sort();
  }

  async delete(name: string): Promise<void> {
    checkArtifactName(name);
    await this.#init.store.artifacts.delete(this.#init.owner, name);
    this.#saved.splice(0, Infinity, ...this.#saved.filter((saved) => saved.name !== name));
  }

  async versions(name: string): Promise<ArtifactVersion[]> {
    checkArtifactName(name);
    const { store, owner } = this.#init;
    const recorded = await store.artifacts.versions(owner, name);
    const own = this.#saved.filter((saved) => saved.name === name);
    return [...recorded.map((stored) => ({ ...stored, ...stored.content })), ...own]
      .map(versionOf)
      .sort((one, other) => one.version - other.version);
  }

  async #find(
    name: string,
    version: number | undefined,
  ): Promise<Pick<StoredArtifact, 'version' | 'content' | 'metadata'> | undefined> {
    checkArtifactName(name);
    const { store, owner } = this.#init;
    const own = this.#saved
      .filter((saved) => saved.name === name && (version === undefined || saved.version === version))
      .reduce<SavedArtifact | undefined>(
        (newest, saved) => (newest && newest.version > saved.version ? newest : saved),
        undefined,
      );
    const recorded = await store.artifacts.find(owner, name, version);
    if (own === undefined || (recorded !== undefined && recorded.version > own.version)) return recorded;
    const { name: _name, version: of, metadata, ...content } = own;
    return { version: of, content: content as ArtifactContent, ...defined({ metadata }) };
  }
}

function versionOf(saved: SavedArtifact): ArtifactVersion {
  const about = { version: saved.version, ...defined({ customMetadata: saved.metadata }) };
  if (saved.kind === 'text') return about;
  return {
    ...about,
    ...defined({ mimeType: saved.mimeType, canonicalUri: saved.kind === 'file' ? saved.uri : undefined }),
  };
}
