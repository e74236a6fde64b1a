import type { Part } from '../events/content.ts';

/** Whose artifacts. Fields: `CompositeSessionKey` of `@google/adk` 2.0.0. */
export interface CompositeSessionKey {
  appName: string;
  userId: string;
  sessionId: string;
}

/** Fields: `SaveArtifactRequest` of `@google/adk` 2.0.0. */
export interface SaveArtifactRequest extends CompositeSessionKey {
  /** Names that begin with `user:` are the user's in all sessions of the app. */
  filename: string;
  /** A part with `inlineData`, `text` or `fileData`. */
  artifact: Part;
  /** JSON. */
  customMetadata?: Record<string, unknown>;
}

/** Fields: `LoadArtifactRequest` of `@google/adk` 2.0.0. */
export interface LoadArtifactRequest extends CompositeSessionKey {
  filename: string;
  /** @default the newest one */
  version?: number;
}

export type ListArtifactKeysRequest = CompositeSessionKey;

/** Fields: `DeleteArtifactRequest` of `@google/adk` 2.0.0. */
export interface DeleteArtifactRequest extends CompositeSessionKey {
  filename: string;
}

/** Fields: `ListVersionsRequest` of `@google/adk` 2.0.0. */
export interface ListVersionsRequest extends CompositeSessionKey {
  filename: string;
}

/** Fields: `ArtifactVersion` of `@google/adk` 2.0.0. */
export interface ArtifactVersion {
  /** From 0. */
  version: number;
  canonicalUri?: string;
  customMetadata?: Record<string, unknown>;
  mimeType?: string;
}

/** Keeps artifacts: files that agents and users save under names, in versions. Semantics: the interface of `@google/adk` 2.0.0. */
export interface BaseArtifactService {
  /** @returns the version, from 0. */
  saveArtifact(request: SaveArtifactRequest): Promise<number>;
  /** @returns undefined where there is no such artifact, or version. */
  loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined>;
  /** @returns names of the session's and the user's artifacts. */
  listArtifactKeys(request: ListArtifactKeysRequest): Promise<string[]>;
  /** Deletes all versions. */
  deleteArtifact(request: DeleteArtifactRequest): Promise<void>;
  /** @returns oldest first. */
  listVersions(request: ListVersionsRequest): Promise<number[]>;
  /** @returns oldest first. */
  listArtifactVersions(request: ListVersionsRequest): Promise<ArtifactVersion[]>;
  getArtifactVersion(request: LoadArtifactRequest): Promise<ArtifactVersion | undefined>;
}

export type SessionSaveArtifactRequest = Omit<SaveArtifactRequest, keyof CompositeSessionKey>;

export type SessionLoadArtifactRequest = Omit<LoadArtifactRequest, keyof CompositeSessionKey>;

/** {@link BaseArtifactService} for one session and its user. Semantics: the interface of `@google/adk` 2.0.0. */
export interface SessionArtifactService {
  saveArtifact(request: SessionSaveArtifactRequest): Promise<number>;
  loadArtifact(request: SessionLoadArtifactRequest): Promise<Part | undefined>;
  listArtifactKeys(): Promise<string[]>;
  /** Deletes all versions, at once. */
  deleteArtifact(filename: string): Promise<void>;
  listVersions(filename: string): Promise<number[]>;
  listArtifactVersions(filename: string): Promise<ArtifactVersion[]>;
  getArtifactVersion(request: SessionLoadArtifactRequest): Promise<ArtifactVersion | undefined>;
}
