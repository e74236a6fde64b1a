import type { RecordEntriesInput } from '../../src/protocol/gate.ts';
import { attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { reportUnexpected } from '../logging.ts';
import { recordClaims } from './claimed-entries.ts';

/** `holdfast.recordEntries`: what happened to requests, where nothing that follows records it anyway. */
export function recordEntries(
  dependencies: ActivityDependencies,
): (input: RecordEntriesInput) => Promise<void> {
  return ({ session, entries }) =>
    attempt(() => recordClaims(dependencies, { session, entries }), reportUnexpected(dependencies, {}));
}
