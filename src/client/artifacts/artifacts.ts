import type { ByteSource } from '../../artifacts/artifact-bytes.ts';
import type { ArtifactRow, ListArtifacts, ListedArtifacts, NamedArtifact } from '../../contract/artifacts.ts';

/** A version of an artifact, and some or all of its bytes. */
export interface ArtifactFile extends Pick<ArtifactRow, 'name' | 'version' | 'mimeType'> {
  /** Of the whole artifact, bytes. */
  size: number;
  /** Of the whole artifact, hexadecimal. */
  sha256: string;
  /** As they are read, verified; read them once, or cancel by leaving the loop. */
  bytes: AsyncIterable<Uint8Array>;
}

/** Names an artifact's version, and the bytes that are wanted. */
export interface GetArtifact extends NamedArtifact {
  /** @default the newest one */
  version?: number;
  /** First byte. @default 0 */
  start?: number;
  /** Byte after the last one. @default the artifact's size */
  end?: number;
  signal?: AbortSignal;
}

/** Bytes to save under a name. */
export interface PutArtifact extends NamedArtifact {
  /** All at once, or as they come: no more than a block is in memory. */
  bytes: ByteSource;
  /** @default 'application/octet-stream' */
  mimeType?: string;
  /** One save id is one version, however often it is sent. */
  saveId?: string;
  signal?: AbortSignal;
}

/** Reads and saves artifacts, with a store at hand or through a gateway. Artifacts in an app's own service are not among them. */
export interface Artifacts {
  /**
   * The newest version of each artifact of a session and its user, by name.
   *
   * @throws InvalidTurn
   * @example
   * for (const { name, size } of (await client.artifacts.list(names)).artifacts) console.log(name, size);
   */
  list(list: ListArtifacts): Promise<ListedArtifacts>;
  /**
   * Versions of an artifact, the oldest first.
   *
   * @throws NoSuchArtifact, InvalidArtifactName, InvalidTurn
   */
  versions(which: NamedArtifact): Promise<ArtifactRow[]>;
  /**
   * A version with its bytes, whole or a range of them.
   *
   * @throws NoSuchArtifact, ArtifactElsewhere, InvalidArtifactName, InvalidTurn
   * @throws ArtifactCorrupt, BucketFailed, UnknownBucket, also while the bytes are read
   * @example
   * const { bytes } = await client.artifacts.get({ ...names, name: 'report.pdf' });
   * await pipeline(bytes, createWriteStream('report.pdf'));
   */
  get(which: GetArtifact): Promise<ArtifactFile>;
  /**
   * Saves a version. The session has to be there, unless the name begins with `user:`.
   *
   * @throws SessionNotFound, ArtifactTooLarge, BucketFailed, InvalidArtifactName, InvalidTurn
   * @example
   * await client.artifacts.put({ ...names, name: 'orders.csv', bytes: createReadStream(path), mimeType: 'text/csv' });
   */
  put(file: PutArtifact): Promise<ArtifactRow>;
  /**
   * Deletes all versions.
   *
   * @returns how many there were.
   * @throws InvalidArtifactName, InvalidTurn
   */
  delete(which: NamedArtifact): Promise<number>;
}
