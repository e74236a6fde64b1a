/** Bytes from `start` up to `end`, which is not among them. */
export interface ByteRange {
  start: number;
  end: number;
}

const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The bytes that a `Range` header asks for, as RFC 9110 has it. Undefined for all of them: without the header, for several ranges, for one
 * that can't be read, and where the bytes are others than the sender's.
 */
export function rangeOf(
  header: string | undefined,
  size: number,
  isOfTheseBytes: boolean,
): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = ONE_RANGE.exec(header ?? '') ?? [];
  if (!isOfTheseBytes || (first === '' && last === '')) return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}
