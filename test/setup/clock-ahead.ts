/**
 * Has this process believe that it is later than it is, its workers among it; the store and Temporal, which run elsewhere, don't.
 *
 * @returns sets the clock right again.
 */
export function clockAhead(by: number): () => void {
  const Actual = globalThis.Date;
  globalThis.Date = class extends Actual {
    constructor(...given: unknown[]) {
      super(...((given.length === 0 ? [Actual.now() + by] : given) as [number]));
    }

    static override now(): number {
      return Actual.now() + by;
    }
  } as DateConstructor;
  return () => {
    globalThis.Date = Actual;
  };
}
