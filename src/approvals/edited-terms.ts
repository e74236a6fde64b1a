import type { ApprovalTerms } from '../contract/requests.ts';

/**
 * Whether a decision on the terms that a request was asked with is good for arguments that would have been asked about on others: it
 * took as many people at least, and nobody could decide who may not decide about those.
 */
export function coversTerms(asked: ApprovalTerms, edited: ApprovalTerms): boolean {
  const { quorum = 1, approvers, escalateTo = [], notRequester = false } = asked;
  if (quorum < (edited.quorum ?? 1)) return false;
  if (edited.notRequester === true && !notRequester) return false;
  if (edited.approvers === undefined) return true;
  if (approvers === undefined) return false;
  const among = (people: readonly string[], of: readonly string[]) => people.every((one) => of.includes(one));
  return (
    among(approvers, edited.approvers) &&
    among(escalateTo, [...edited.approvers, ...(edited.escalateTo ?? [])])
  );
}
