import type { Duration } from '../schema/duration.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import {
  type Field,
  type OptionReader,
  type OptionsFor,
  type Resolved,
  readGroup,
} from '../schema/options.ts';
import { problemOfName } from '../schema/person-name.ts';

/** Rules of the decision whether a call runs. */
export interface ApprovalOptions {
  /**
   * Persons whose decision counts, by the names that their attestations have. Decisions without an attestation don't count then.
   *
   * @default anybody
   */
  approvers?: readonly string[];
  /**
   * How many different people must approve. One rejection ends the request.
   *
   * @default 1
   */
  quorum?: number;
  /**
   * How long the request waits.
   *
   * @default 'never'
   * @format milliseconds, or text like `'2 hours'`
   */
  expiresIn?: Duration | 'never';
  /**
   * Decides about a request without a decision in time. `'escalate'` asks the people of `escalateTo` for as long again, then rejects.
   *
   * @default 'reject'
   */
  onExpiry?: 'reject' | 'approve' | 'escalate';
  /** People who may decide, too, after the request has escalated. */
  escalateTo?: readonly string[];
  /**
   * When those of `escalateTo` may decide beside the others. Shorter than `expiresIn`.
   *
   * @default not before the request expires
   * @format milliseconds, or text like `'30 minutes'`
   */
  escalateAfter?: Duration;
  /**
   * Whether an approval may change the arguments. They are validated again.
   *
   * @default false
   */
  allowEdit?: boolean;
  /**
   * Whether the sender of the message may not decide. If the message has no attestation, no decision counts.
   *
   * @default false
   */
  notRequester?: boolean;
}

export const APPROVAL = {
  approvers: option.custom(peopleOf),
  quorum: unless(1, option.count()),
  expiresIn: unless('never', option.duration()),
  onExpiry: unless('reject', option.choice(['reject', 'approve', 'escalate'])),
  escalateAfter: option.duration(),
  escalateTo: option.custom(peopleOf),
  allowEdit: unless(false, option.flag()),
  notRequester: unless(false, option.flag()),
} satisfies OptionsFor<ApprovalOptions>;

/** {@link ApprovalOptions} that were checked, without those that are their defaults; durations in milliseconds. */
export interface ResolvedApproval extends Resolved<typeof APPROVAL> {}

/**
 * @param sensitive what the tool keeps to itself.
 * @throws DefinitionError naming the option.
 */
export function resolveApproval(
  owner: string,
  field: string,
  options: unknown = {},
  sensitive: unknown = false,
): ResolvedApproval {
  return readGroup(APPROVAL, { owner, options, field }, (approval, read) => {
    assertEditable(read, approval, sensitive);
    assertQuorum(read, approval);
    assertExpiry(read, approval);
    assertEscalation(read, approval);
    return approval;
  });
}

/** A decision is kept in Temporal's history. */
function assertEditable(read: OptionReader, { allowEdit }: ResolvedApproval, sensitive: unknown): void {
  if (allowEdit !== true || sensitive !== true) return;
  read.fail(
    'allowEdit',
    'the tool is sensitive: true, and changed arguments would travel through the history of Temporal: leave allowEdit out, ' +
      'or list under sensitive which arguments are, and the others can be changed',
  );
}

function assertQuorum(read: OptionReader, { approvers, quorum = 1 }: ResolvedApproval): void {
  if (approvers === undefined || quorum <= approvers.length) return;
  const there = approvers.length === 1 ? 'is 1 approver' : `are ${approvers.length} approvers`;
  read.fail('quorum', `${quorum} approvals of different people, and there ${there}: name more of them`);
}

function assertExpiry(read: OptionReader, approval: ResolvedApproval): void {
  const { onExpiry, expiresIn, approvers, quorum, notRequester, escalateTo } = approval;
  if (onExpiry === undefined) return;
  if (expiresIn === undefined) {
    read.fail(
      'onExpiry',
      `'${onExpiry}' never comes to pass without expiresIn: say when the request expires`,
    );
  }
  if (onExpiry === 'escalate' && escalateTo === undefined) {
    read.fail('onExpiry', `'escalate' needs escalateTo: name those who may decide from then on`);
  }
  if (onExpiry !== 'approve') return;
  const rule = [
    ...(approvers === undefined ? [] : ['approvers']),
    ...(quorum === undefined ? [] : ['quorum']),
    ...(notRequester === undefined ? [] : ['notRequester']),
  ][0];
  if (rule === undefined) return;
  read.fail('onExpiry', `'approve' would pass by ${rule}: use 'reject' or 'escalate', or leave ${rule} out`);
}

function assertEscalation(read: OptionReader, approval: ResolvedApproval): void {
  const { escalateAfter, escalateTo, expiresIn, onExpiry } = approval;
  if (escalateAfter === undefined) {
    if (escalateTo === undefined || onExpiry === 'escalate') return;
    read.fail('escalateTo', `nobody is ever asked: give escalateAfter too, or onExpiry: 'escalate'`);
  }
  if (escalateTo === undefined)
    read.fail('escalateAfter', 'needs escalateTo: name those who may decide then');
  if (expiresIn !== undefined && escalateAfter >= expiresIn) {
    read.fail('escalateAfter', 'must be shorter than expiresIn, or the request has expired by then');
  }
}

/** Rules go with each request: their defaults need not. */
function unless<Given, Value>(byDefault: unknown, field: Field<Given, Value>): typeof field {
  return (read, name) => (read.value(name) === byDefault ? (undefined as Value) : field(read, name));
}

function peopleOf(value: unknown, read: OptionReader, field: string): readonly string[] {
  if (!Array.isArray(value)) return read.fail(field, `expected a list of names, got ${kindOf(value)}`);
  if (value.length === 0) {
    return read.fail(field, 'the list is empty, so nobody could decide: name somebody, or leave it out');
  }
  const names: string[] = [];
  for (const [index, name] of value.entries()) {
    const place = `${field}[${index}]`;
    const problem = problemOfName(name);
    if (problem !== undefined) return read.fail(place, problem);
    if (names.includes(name)) return read.fail(place, 'is in the list already: each person counts once');
    names.push(name);
  }
  return Object.freeze(names);
}
