import { createHash } from 'node:crypto';

/** Numbers that depend on the seed only. */
export interface SeededRandom {
  /** From 0 to below 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  shuffled<T>(list: readonly T[]): T[];
}

/** Mulberry32: 32 bits of state are enough for plans that people read. */
export function seededRandom(seed: number | string): SeededRandom {
  let state = createHash('sha256').update(String(seed)).digest().readUInt32LE();
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  const shuffled = <T>(list: readonly T[]): T[] => {
    const left = [...list];
    const drawn: T[] = [];
    while (left.length > 0) drawn.push(...left.splice(between(0, left.length - 1), 1));
    return drawn;
  };
  return {
    next,
    between,
    shuffled,
    chance: (probability) => next() < probability,
    pick<T>(list: readonly T[]): T {
      const picked = list[between(0, list.length - 1)];
      if (picked === undefined) throw new Error('there is nothing to pick from');
      return picked;
    },
  };
}

/** Text of so many characters that depends on its name only, so that a mix-up shows. */
export function fillerOf(name: string, characters: number): string {
  if (characters === 0) return '';
  const piece = createHash('sha256').update(name).digest('hex');
  return piece.repeat(Math.ceil(characters / piece.length)).slice(0, characters);
}
