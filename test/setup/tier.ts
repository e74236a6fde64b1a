/** Whether this is `npm run test:deep`: the same tests with more kills, seeds and rounds, and those that take minutes. */
export const isDeep = process.env.HOLDFAST_TEST_TIER === 'deep';

/** How much of something a run does: little for each change, much in `npm run test:deep`. */
export function inTier<T>(quick: T, deep: T): T {
  return isDeep ? deep : quick;
}

/** Cases of one promise: each third for each change, all in `npm run test:deep`. */
export function someOf<Case extends readonly unknown[] | readonly [unknown]>(cases: readonly Case[]): Case[];
export function someOf<Case>(cases: readonly Case[]): Case[];
export function someOf<Case>(cases: readonly Case[]): Case[] {
  return cases.filter((_case, index) => isDeep || index % 3 === 0);
}
