import fc from 'fast-check';
import { expect, test } from 'vitest';
import { coversTerms } from '../../src/approvals/edited-terms.ts';
import { refusalOfVoter } from '../../src/approvals/voting.ts';
import type { ApprovalTerms } from '../../src/contract/requests.ts';

const PEOPLE = ['ada', 'mira', 'jo', 'sam'];
const some = fc.subarray(PEOPLE, { minLength: 1 });
const terms: fc.Arbitrary<ApprovalTerms> = fc.record(
  {
    approvers: some,
    quorum: fc.integer({ min: 1, max: 3 }),
    escalateTo: some,
    notRequester: fc.boolean(),
    allowEdit: fc.boolean(),
    expiresIn: fc.integer({ min: 1 }),
  },
  { requiredKeys: [] },
);

/** Those of them whose decision counts. */
function deciders(asked: ApprovalTerms, escalated: boolean): string[] {
  const request = { terms: asked, requester: 'ada' };
  return PEOPLE.filter((principal) => {
    const by = { principal, verified: true };
    return refusalOfVoter(request, by, { escalated, trustTemporal: false }) === undefined;
  });
}

test('an edit is covered only where its own question would have let the same people decide, and no fewer of them [approval.edit]', () => {
  fc.assert(
    fc.property(terms, terms, (asked, edited) => {
      if (!coversTerms(asked, edited)) return;
      expect(asked.quorum ?? 1).toBeGreaterThanOrEqual(edited.quorum ?? 1);
      for (const escalated of [false, true]) {
        expect(deciders(edited, escalated)).toEqual(expect.arrayContaining(deciders(asked, escalated)));
      }
    }),
  );
});

test('terms cover themselves, and easier ones [approval.edit]', () => {
  fc.assert(fc.property(terms, (asked) => coversTerms(asked, asked) && coversTerms(asked, {})));
});

test.each<[ApprovalTerms, ApprovalTerms]>([
  [{}, { quorum: 2 }],
  [{}, { approvers: ['mira'] }],
  [{}, { notRequester: true }],
  [{ approvers: ['mira', 'jo'] }, { approvers: ['mira'] }],
  [{ approvers: ['mira'], escalateTo: ['sam'] }, { approvers: ['mira'] }],
])('%j are not enough for %j [approval.edit]', (asked, edited) => {
  expect(coversTerms(asked, edited)).toBe(false);
});
