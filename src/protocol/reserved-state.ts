/**
 * Keys of the state that are refused, in any case: Holdfast once kept its own notes of a turn there. They have columns now, and no
 * such key means anything; the refusal tells a sender so.
 */
const RESERVED = /^temp:_?holdfast_/i;

export function isReservedKey(key: string): boolean {
  return RESERVED.test(key);
}

/** The first key of a state, or of a delta of one, that is Holdfast's own. */
export function reservedKeyIn(
  state: Readonly<Record<string, unknown>> | null | undefined,
): string | undefined {
  return Object.keys(state ?? {}).find(isReservedKey);
}

export function reservedKeyText(key: string): string {
  const shown = JSON.stringify(key.slice(0, 100));
  return `the key ${shown} is reserved for Holdfast: keys must not begin with temp:_holdfast_ or temp:holdfast_, give it another name`;
}
