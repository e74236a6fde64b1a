import { SCENARIOS } from '../../test/adk/scenarios.ts';

/** What differs on purpose where agents do the same on ADK and on Holdfast, each sentence once. */
export function behaviourDifferences(): string[] {
  return [...new Set(SCENARIOS.flatMap(({ differs }) => (differs === undefined ? [] : [differs.because])))];
}
