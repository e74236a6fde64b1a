import type { OnExpiry } from '../contract/requests.ts';
import { defined } from '../protocol/json.ts';
import type { Duration } from '../schema/duration.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';
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

/** {@link ApprovalOptions} that were checked, with their defaults; durations in milliseconds. */
export interface ResolvedApproval {
  readonly approvers?: readonly string[];
  readonly quorum?: number;
  readonly expiresIn?: number;
  readonly onExpiry?: OnExpiry;
  readonly escalateAfter?: number;
  readonly escalateTo?: readonly string[];
  readonly allowEdit?: boolean;
  readonly notRequester?: boolean;
}

const FIELDS = [
  'approvers',
  'quorum',
  'expiresIn',
  'onExpiry',
  'escalateTo',
  'escalateAfter',
  'allowEdit',
  'notRequester',
] satisfies (keyof ApprovalOptions)[];

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
  assertKnownFields(owner, options, FIELDS, { field });
  const read = new OptionReader(owner, options, field);
  const approvers = peopleOf(read, 'approvers', options.approvers);
  const escalateTo = peopleOf(read, 'escalateTo', options.escalateTo);
  const quorum = read.count('quorum', 1);
  const expiresIn = options.expiresIn === 'never' ? undefined : timeOf(read, 'expiresIn');
  const escalateAfter = timeOf(read, 'escalateAfter');
  const onExpiry = read.choice<OnExpiry>('onExpiry', ['reject', 'approve', 'escalate'], 'reject');
  const notRequester = read.boolean('notRequester', false);
  const approval: ResolvedApproval = {
    ...defined({ approvers }),
    ...(quorum === 1 ? {} : { quorum }),
    ...defined({ expiresIn }),
    ...(onExpiry === 'reject' ? {} : { onExpiry }),
    ...defined({ escalateAfter, escalateTo }),
    ...(read.boolean('allowEdit', false) ? { allowEdit: true } : {}),
    ...(notRequester ? { notRequester } : {}),
  };
  assertEditable(read, approval, sensitive);
  assertQuorum(read, approval);
  assertExpiry(read, approval);
  assertEscalation(read, approval);
  return Object.freeze(approval);
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

function timeOf(read: OptionReader, name: string): number | undefined {
  return read.given(name) ? read.duration(name, 1) : undefined;
}

function peopleOf(read: OptionReader, field: string, value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
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
