import type {
  ConfirmOptions,
  DecisionReceipt,
  ListApprovals,
  ProvideCredentialOptions,
  ProvideInputOptions,
  RequestName,
} from '../../contract/approvals.ts';
import type { AuditRow, AuditVerification } from '../../contract/audit.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Confirmed } from '../turns/steering.ts';

/**
 * Names a request: by its own id, with or without its session; or by its session, with the call where several requests are
 * pending in it. An id that is another session's is not found.
 */
export type WhichRequest =
  | ({ requestId: string } & Partial<SessionNames>)
  | (SessionNames & Omit<RequestName, 'requestId'> & { requestId?: undefined });

/** The outcome of a decision that counts, or is in the run's history. A refusal is thrown. */
export type Decided = Confirmed<DecisionReceipt & { status: Exclude<DecisionReceipt['status'], 'refused'> }>;

/** Names a session; one that was deleted by the store's id of it only. */
export type WhichAudit = SessionNames | { session: string };

/** Lists, answers and proves requests to people, with a store at hand or through a gateway. */
export interface Approvals {
  /**
   * Requests, the oldest first: pending ones unless told otherwise.
   *
   * @throws InvalidTurn
   * @example
   * for (const { requestId, hint, args } of await client.approvals.list({ app: 'shop' })) console.log(requestId, hint, args);
   */
  list(list?: ListApprovals): Promise<ApprovalRow[]>;
  /**
   * Undefined where there is none. A call's pending request, or the latest that it made.
   *
   * @throws AmbiguousRequest where several pending ones fit; InvalidTurn
   */
  get(which: WhichRequest): Promise<ApprovalRow | undefined>;
  /**
   * Approves or rejects a call, or counts as one vote of several. With no worker up the decision is kept for the next one, and is
   * not confirmed.
   *
   * @param options `args` run in place of those that were shown, where the request allows it: with `payload` at most 32 KiB of JSON;
   * `reason` has at most 2,000 characters; `withdraw` takes an earlier vote back; `attestation` proves who decides. `timeout`:
   * milliseconds, 5,000 by default. `shown`: the request as it was shown to whoever decides: another one that has its id by now, as
   * in a session that was deleted and made again, or one with other arguments, is not decided. It needs a store.
   * @throws RequestNotFound, AmbiguousRequest, InvalidTurn
   * @throws RequestNotPending where it was answered otherwise, has expired, or its turn has ended.
   * @throws DecisionRefused where the decision doesn't count: it is not this person's, or not of these arguments.
   * @example
   * await client.approvals.confirm({ requestId: row.requestId }, { confirmed: true, shown: row });
   * await client.approvals.confirm({ requestId }, { confirmed: false, reason: 'the order is older than a year' });
   */
  confirm(which: WhichRequest, options: ConfirmOptions): Promise<Decided>;
  /**
   * Answers a request for input.
   *
   * @param options `response`: JSON, checked by the request's schema.
   * @throws as {@link confirm}
   * @example
   * await client.approvals.provideInput({ requestId }, { response: { size: 'L' } });
   */
  provideInput(which: WhichRequest, options: ProvideInputOptions): Promise<Decided>;
  /**
   * Answers a request for a credential with one that {@link Credentials.put} has stored.
   *
   * @throws as {@link confirm}
   * @example
   * const { credentialRef } = await client.credentials.put({ app, userId, credentialKey, credential });
   * await client.approvals.provideCredential({ requestId }, { credentialRef });
   */
  provideCredential(which: WhichRequest, options: ProvideCredentialOptions): Promise<Decided>;
  /**
   * The audit of a session, in order: each request, vote, edit and expiry is in it.
   *
   * @throws SessionNotFound, InvalidTurn
   */
  audit(which: WhichAudit): Promise<AuditRow[]>;
  /**
   * Recomputes the hash chain of a session's audit, and checks that each person that its rows name as verified has signed:
   * `problems` says what doesn't hold. Signatures of a gateway whose credential key is gone are in `unchecked`, and `ok` says
   * nothing of them.
   *
   * @throws SessionNotFound, InvalidTurn
   * @example
   * const { ok, problems } = await client.approvals.verifyAudit(names);
   */
  verifyAudit(which: WhichAudit): Promise<AuditVerification>;
}
