import type { ByteSource } from '../../artifacts/artifact-bytes.ts';
import {
  type ARTIFACTS,
  type ArtifactRow,
  deleteArtifact,
  type ListArtifacts,
  type ListedArtifacts,
  listArtifacts,
  listArtifactVersions,
  type NamedArtifact,
} from '../../contract/artifacts.ts';
import { type Call, type MethodsOf, OPERATOR } from '../../contract/operation.ts';

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

/** A way to the bytes of artifacts, which are no JSON. */
export interface BytesWay {
  get(which: GetArtifact): Promise<ArtifactFile>;
  put(file: PutArtifact): Promise<ArtifactRow>;
}

/** Reads and saves artifacts, with a store at hand or through a gateway. Artifacts in an app's own service are not among them. */
export class Artifacts implements MethodsOf<typeof ARTIFACTS> {
  readonly #call: Call;
  readonly #bytes: BytesWay;

  /** @internal */
  constructor(call: Call, bytes: BytesWay) {
    this.#call = call;
    this.#bytes = bytes;
  }

  /**
   * The newest version of each artifact of a session and its user, by name.
   *
   * @throws InvalidTurn
   * @example
   * for (const { name, size } of (await client.artifacts.list(names)).artifacts) console.log(name, size);
   */
  async list(list: ListArtifacts): Promise<ListedArtifacts> {
    return await this.#call(listArtifacts, list, OPERATOR);
  }

  /**
   * Versions of an artifact, the oldest first.
   *
   * @throws NoSuchArtifact, InvalidArtifactName, InvalidTurn
   */
  async versions(which: NamedArtifact): Promise<ArtifactRow[]> {
    return [...(await this.#call(listArtifactVersions, which, OPERATOR)).versions];
  }

  /**
   * A version with its bytes, whole or a range of them.
   *
   * @throws NoSuchArtifact, ArtifactElsewhere, InvalidArtifactName, InvalidTurn
   * @throws ArtifactCorrupt, BucketFailed, UnknownBucket, also while the bytes are read
   * @example
   * const { bytes } = await client.artifacts.get({ ...names, name: 'report.pdf' });
   * await pipeline(bytes, createWriteStream('report.pdf'));
   */
  async get(which: GetArtifact): Promise<ArtifactFile> {
    return await this.#bytes.get(which);
  }

  /**
   * Saves a version. The session has to be there, unless the name begins with `user:`.
   *
   * @throws SessionNotFound, ArtifactTooLarge, BucketFailed, InvalidArtifactName, InvalidTurn
   * @example
   * await client.artifacts.put({ ...names, name: 'orders.csv', bytes: createReadStream(path), mimeType: 'text/csv' });
   */
  async put(file: PutArtifact): Promise<ArtifactRow> {
    return await this.#bytes.put(file);
  }

  /**
   * Deletes all versions.
   *
   * @returns how many there were.
   * @throws InvalidArtifactName, InvalidTurn
   */
  async delete(which: NamedArtifact): Promise<number> {
    return (await this.#call(deleteArtifact, which, OPERATOR)).deleted;
  }
}
