import { SCENARIOS } from '../../test/adk/scenarios.ts';

/** Intended differences between the same agents on ADK and on Holdfast, each sentence once. */
export function behaviourDifferences(): string[] {
  return [...new Set(SCENARIOS.flatMap(({ differs }) => (differs === undefined ? [] : [differs.because])))];
}
