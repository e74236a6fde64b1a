/** Bytes that are kept whole, by content. */
export interface Blob {
  id: string;
  /** SHA-256, hexadecimal. */
  sha256: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of each block of `BLOCK_BYTES`, one after another. */
  blockDigests: Uint8Array;
  /** Bucket that has the bytes; undefined where the store has them itself. */
  bucket?: string;
}

/** Bytes of a block: the unit that is written, read and verified. */
export const BLOCK_BYTES = 1024 * 1024;

/**
 * Bytes of artifacts. An app has the same bytes once; apps share none. Bytes that no version of an artifact uses are collected a while
 * after they were written, or lost their last version.
 */
export interface BlobStore {
  /**
   * Keeps bytes of one block at most.
   *
   * @returns the blob's id: of one that the app had already, where it has these bytes.
   */
  put(bytes: { app: string; sha256: string; bytes: Uint8Array }): Promise<string>;
  /** Begins bytes whose hash is not known yet. */
  begin(blob: { app: string; bucket?: string }): Promise<string>;
  /** Writes a block: each of `BLOCK_BYTES`, but the last. */
  write(block: { id: string; nth: number; bytes: Uint8Array }): Promise<void>;
  /**
   * The bytes are written.
   *
   * @returns the id that has them: another one, where the app had the same bytes already. Undefined where nobody has finished them for so
   *   long that they were collected.
   */
  finish(blob: Omit<Blob, 'bucket'>): Promise<string | undefined>;
  /** Undefined for one that is not there, or not finished. */
  find(id: string): Promise<Blob | undefined>;
  /** Undefined where the block is not there. */
  read(block: { id: string; nth: number }): Promise<Uint8Array | undefined>;
  /** Bytes that nobody uses. Remove those of a bucket, then `drop` each; until then they are answered again, ten minutes later. */
  giveUp(atMost: number): Promise<{ id: string; bucket?: string }[]>;
  /** Removes bytes that are not whole, or were given up; all others stay. */
  drop(id: string): Promise<void>;
}
