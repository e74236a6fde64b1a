import type { Requirement } from '../requirements.ts';

/** What came of a test. */
export interface TestOutcome {
  fullName: string;
  state: 'passed' | 'failed' | 'skipped' | 'pending';
}

/**
 * Promises of a tier that a whole run of it has not shown: no test that names them has passed.
 *
 * @returns `isSkipped`: there are such tests, and this machine lacks what they need.
 */
export function unshown(
  requirements: readonly Pick<Requirement, 'id' | 'isPlanned' | 'tier'>[],
  tier: Requirement['tier'],
  outcomes: readonly TestOutcome[],
): { id: string; isSkipped: boolean }[] {
  const named = (id: string) => outcomes.filter(({ fullName }) => fullName.includes(`[${id}]`));
  return requirements
    .filter((each) => !each.isPlanned && each.tier === tier)
    .map(({ id }) => ({ id, states: named(id).map(({ state }) => state) }))
    .filter(({ states }) => !states.includes('passed'))
    .map(({ id, states }) => ({ id, isSkipped: states.includes('skipped') }));
}
