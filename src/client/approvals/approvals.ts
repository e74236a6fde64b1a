import {
  type APPROVALS,
  type ConfirmOptions,
  confirmRequest,
  type DecisionReceipt,
  getApproval,
  getSessionApproval,
  type ListApprovals,
  listApprovals,
  type ProvideCredentialOptions,
  type ProvideInputOptions,
  provideCredential,
  provideInput,
} from '../../contract/approvals.ts';
import {
  type AuditRow,
  type AuditVerification,
  getAudit,
  getAuditById,
  verifyAudit,
  verifyAuditById,
} from '../../contract/audit.ts';
import { type Call, type MethodsOf, OPERATOR } from '../../contract/operation.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Confirmed } from '../turns/steering.ts';
import { type NamedRequest, namedRequest, requestNotFound, type WhichRequest } from './find-request.ts';

/** The outcome of a decision that counts, or is in the run's history. A refusal is thrown. */
export type Decided = Confirmed<DecisionReceipt & { status: Exclude<DecisionReceipt['status'], 'refused'> }>;

/** Names a session; one that was deleted by the store's id of it only. */
export type WhichAudit = SessionNames | { session: string };

/** Lists, answers and proves requests to people, with a store at hand or through a gateway. */
export class Approvals implements MethodsOf<typeof APPROVALS> {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Requests, the oldest first: pending ones unless told otherwise.
   *
   * @throws InvalidTurn
   * @example
   * for (const { requestId, hint, args } of await client.approvals.list({ app: 'shop' })) console.log(requestId, hint, args);
   */
  async list(list: ListApprovals = {}): Promise<ApprovalRow[]> {
    return [...(await this.#call(listApprovals, list, OPERATOR)).approvals];
  }

  /**
   * Undefined where there is none. A call's pending request, or the latest that it made.
   *
   * @throws AmbiguousRequest where several pending ones fit; InvalidTurn
   */
  async get(which: WhichRequest): Promise<ApprovalRow | undefined> {
    return await this.#find(namedRequest(which, getApproval.name));
  }

  /**
   * Approves or rejects a call, or counts as one vote of several. With no worker up the decision is kept for the next one, and is
   * not confirmed.
   *
   * @param options `args` run in place of those that were shown, where the request allows it: with `payload` at most 32 KiB of JSON;
   * `reason` has at most 2,000 characters; `withdraw` takes an earlier vote back; `attestation` proves who decides. `timeout`:
   * milliseconds, 5,000 by default. `shown`: the request as it was shown to whoever decides: another one that has its id by now, as
   * in a session that was deleted and made again, or one with other arguments, is not decided.
   * @throws RequestNotFound, AmbiguousRequest, InvalidTurn
   * @throws RequestNotPending where it was answered otherwise, has expired, or its turn has ended.
   * @throws DecisionRefused where the decision doesn't count: it is not this person's, or not of these arguments.
   * @example
   * await client.approvals.confirm({ requestId: row.requestId }, { confirmed: true, shown: row });
   * await client.approvals.confirm({ requestId }, { confirmed: false, reason: 'the order is older than a year' });
   */
  async confirm(which: WhichRequest, options: ConfirmOptions): Promise<Decided> {
    const requestId = await this.#idOf(which, confirmRequest.name);
    return (await this.#call(confirmRequest, { ...options, requestId }, OPERATOR)) as Decided;
  }

  /**
   * Answers a request for input.
   *
   * @param options `response`: JSON, checked by the request's schema.
   * @throws as {@link confirm}
   * @example
   * await client.approvals.provideInput({ requestId }, { response: { size: 'L' } });
   */
  async provideInput(which: WhichRequest, options: ProvideInputOptions): Promise<Decided> {
    const requestId = await this.#idOf(which, provideInput.name);
    return (await this.#call(provideInput, { ...options, requestId }, OPERATOR)) as Decided;
  }

  /**
   * Answers a request for a credential with one that {@link Credentials.put} has stored.
   *
   * @throws as {@link confirm}
   * @example
   * const { credentialRef } = await client.credentials.put({ app, userId, credentialKey, credential });
   * await client.approvals.provideCredential({ requestId }, { credentialRef });
   */
  async provideCredential(which: WhichRequest, options: ProvideCredentialOptions): Promise<Decided> {
    const requestId = await this.#idOf(which, provideCredential.name);
    return (await this.#call(provideCredential, { ...options, requestId }, OPERATOR)) as Decided;
  }

  /**
   * The audit of a session, in order: each request, vote, edit and expiry is in it.
   *
   * @throws SessionNotFound, InvalidTurn
   */
  async audit(which: WhichAudit): Promise<AuditRow[]> {
    const { rows } =
      'session' in which
        ? await this.#call(getAuditById, which, OPERATOR)
        : await this.#call(getAudit, which, OPERATOR);
    return [...rows];
  }

  /**
   * Recomputes the hash chain of a session's audit, and checks that each person that its rows name as verified has signed:
   * `problems` says what doesn't hold. Signatures of a gateway whose credential key is gone are in `unchecked`, and `ok` says
   * nothing of them.
   *
   * @throws SessionNotFound, InvalidTurn
   * @example
   * const { ok, problems } = await client.approvals.verifyAudit(names);
   */
  async verifyAudit(which: WhichAudit): Promise<AuditVerification> {
    return 'session' in which
      ? await this.#call(verifyAuditById, which, OPERATOR)
      : await this.#call(verifyAudit, which, OPERATOR);
  }

  async #find({ names, named }: NamedRequest): Promise<ApprovalRow | undefined> {
    return names === undefined
      ? await this.#call(getApproval, named as { requestId: string }, OPERATOR)
      : await this.#call(getSessionApproval, { ...names, ...named }, OPERATOR);
  }

  /** A request with an id of its own needs no lookup. */
  async #idOf(which: WhichRequest, method: string): Promise<string> {
    const request = namedRequest(which, method);
    const { names, named } = request;
    if (names === undefined && named.requestId !== undefined) return named.requestId;
    const row = await this.#find(request);
    if (row === undefined) throw requestNotFound(method, request);
    return row.requestId;
  }
}
