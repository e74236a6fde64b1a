/** A model's own figure, which may be anything; one that is no number of tokens counts as none. */
export function tokenCount(count: unknown): number {
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : 0;
}
