import { PART_1 } from './requirements/part-1.ts';
import { PART_2, PART_3 } from './requirements/part-2-to-3.ts';
import { PART_4 } from './requirements/part-4.ts';
import { PART_5, PART_6 } from './requirements/part-5-to-6.ts';
import { LATER, PART_7, PART_8 } from './requirements/part-7-to-8.ts';
import type { Rows, Source, Tier } from './requirements/row.ts';

/** The part that delivers a promise. */
type Part = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 'later';

/**
 * One thing that Holdfast promises. Tests that show it name its id at the end of their title, in brackets:
 * `test('a cancelled turn leaves … [turn.cancel]', …)`.
 */
export interface Requirement {
  id: string;
  source: Source;
  /** In one sentence. */
  behaviour: string;
  part: Part;
  tier: Tier;
}

/** The last part that is delivered: each of its rows, and of those before, is shown by a test. */
export const DELIVERED = 8;

/** What Holdfast promises. */
export const REQUIREMENTS: readonly Requirement[] = [
  ...promised(1, PART_1),
  ...promised(2, PART_2),
  ...promised(3, PART_3),
  ...promised(4, PART_4),
  ...promised(5, PART_5),
  ...promised(6, PART_6),
  ...promised(7, PART_7),
  ...promised(8, PART_8),
  ...promised('later', LATER),
];

function promised(part: Part, rows: Rows): Requirement[] {
  const promises: Requirement[] = [];
  for (const [id, [source, behaviour, tier = 'test']] of Object.entries(rows)) {
    promises.push({ id, source, behaviour, part, tier });
  }
  return promises;
}
