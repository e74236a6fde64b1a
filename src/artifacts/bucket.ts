/** Where bytes of large artifacts are kept. Keys are Holdfast's own, and each is written once. */
export interface Bucket {
  /** Names the bucket in the store, and in errors: an address without secrets. */
  readonly url: string;
  /**
   * Writes bytes under a key that nobody has written before, without holding all of them in memory.
   *
   * @param options `signal` gives up, and leaves nothing behind where the bucket can be reached.
   * @throws BucketFailed
   */
  write(key: string, bytes: AsyncIterable<Uint8Array>, options?: { signal?: AbortSignal }): Promise<void>;
  /**
   * Bytes from `start` up to `end`, which is not read.
   *
   * @throws BucketFailed, also where there is nothing under the key
   */
  read(key: string, range: { start: number; end: number }): AsyncIterable<Uint8Array>;
  /**
   * Nothing is an error where the key is not there.
   *
   * @throws BucketFailed
   */
  remove(key: string): Promise<void>;
  close?(): void | Promise<void>;
}
