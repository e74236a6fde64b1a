import type { Part } from '../events/content.ts';
import { defined } from '../protocol/json.ts';
import type { SavedArtifact } from '../store/artifacts/artifact-store.ts';
import type { ArtifactStream } from './artifact-content.ts';
import type { ArtifactVersion, SessionArtifactService } from './base-artifact-service.ts';

/** An artifact whose bytes are read as they are needed. */
export interface OpenedArtifact {
  version: number;
  mimeType?: string;
  /** Bytes. */
  size?: number;
  /** Hexadecimal. */
  sha256?: string;
  /** Verified, a block at a time; absent where the artifact is an address. */
  bytes?: AsyncIterable<Uint8Array>;
  /** Address of the bytes, of an artifact that is one. */
  fileUri?: string;
  /** Whether its tool was `trusted` when it saved this. Absent where no tool did, and where the app didn't say `markUntrusted`. */
  trusted?: boolean;
}

export interface OpenArtifactOptions {
  /** @default the newest one */
  version?: number;
  /** First byte. @default 0 */
  start?: number;
  /** Byte after the last one. @default the artifact's size */
  end?: number;
}

/** Saves and reads artifacts for a context. */
export interface ContextArtifacts {
  save(name: string, artifact: Part | ArtifactStream): Promise<number>;
  load(name: string, version?: number): Promise<Part | undefined>;
  open(name: string, options?: OpenArtifactOptions): Promise<OpenedArtifact | undefined>;
  list(): Promise<string[]>;
  /** Deletes all versions of a name, at once. */
  delete(name: string): Promise<void>;
  /** The oldest first. */
  versions(name: string): Promise<ArtifactVersion[]>;
  /** Versions that are recorded with the outcome of a call; absent where something else records them. */
  readonly saved?: readonly SavedArtifact[];
  /** Adds versions that an earlier part of the call has saved. */
  restore?(saved: readonly SavedArtifact[]): void;
}

/** Artifacts as one attempt of a call, or of a step, sees them. */
export interface AttemptArtifacts extends ContextArtifacts {
  readonly saved: readonly SavedArtifact[];
  restore(saved: readonly SavedArtifact[]): void;
  /** For user code whose actions do not carry its versions: the step records them. */
  readonly ofStep: ContextArtifacts;
}

/** The same artifacts, by the methods of ADK's service. As there, no `artifactDelta` tells of them. */
export function sessionArtifacts(artifacts: ContextArtifacts): SessionArtifactService {
  return {
    saveArtifact: ({ filename, artifact, customMetadata }) =>
      artifacts.save(filename, { ...artifact, ...defined({ customMetadata }) }),
    loadArtifact: ({ filename, version }) => artifacts.load(filename, version),
    listArtifactKeys: () => artifacts.list(),
    deleteArtifact: (filename) => artifacts.delete(filename),
    listVersions: async (filename) => (await artifacts.versions(filename)).map(({ version }) => version),
    listArtifactVersions: (filename) => artifacts.versions(filename),
    getArtifactVersion: async ({ filename, version }) => {
      const versions = await artifacts.versions(filename);
      return version === undefined ? versions.at(-1) : versions.find((each) => each.version === version);
    },
  };
}
