import type { Store } from '../../src/store/store.ts';

/** An operation of a facet, as `turns.openStep`. */
export type StoreOperation = {
  [Noun in keyof Store]: Store[Noun] extends (...given: never[]) => unknown
    ? never
    : `${Noun}.${Extract<keyof Store[Noun], string>}`;
}[keyof Store];

type Operation = (...given: never[]) => unknown;

/**
 * A store whose operations a test does otherwise.
 *
 * @param around is asked at each call for what is done in place of an operation; undefined leaves it as it is.
 */
export function wrappedStore<Wrapped extends Store>(
  actual: Wrapped,
  around: (operation: StoreOperation, own: Operation) => Operation | undefined,
): Wrapped {
  const wrappedFacet = (noun: string, facet: object) =>
    new Proxy(facet, {
      get(_facet, name) {
        const value: unknown = Reflect.get(facet, name, facet);
        if (typeof value !== 'function') return value;
        const own = value.bind(facet) as Operation;
        return around(`${noun}.${String(name)}` as StoreOperation, own) ?? own;
      },
    });
  return new Proxy(actual, {
    get(target, noun) {
      const value: unknown = Reflect.get(target, noun, target);
      return typeof value === 'object' && value !== null ? wrappedFacet(String(noun), value) : value;
    },
  });
}
