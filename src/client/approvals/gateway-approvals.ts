import {
  type ConfirmOptions,
  confirmRequest,
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
import type { Operation } from '../../contract/operation.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { checkedInput } from '../checked-input.ts';
import { RequestNotFound } from '../client-errors.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import { answerQuery } from '../turns/gateway-turn.ts';
import type { AnswerOptions } from '../turns/steering.ts';
import type { Approvals, Decided, WhichAudit, WhichRequest } from './approvals.ts';
import { checkedConfirm, checkedCredential, checkedResponse } from './check-decision.ts';
import { type NamedRequest, namedRequest, requestNotFound } from './find-request.ts';

/** `approvals` of a `GatewayClient`: as those of `HoldfastClient`. */
export class GatewayApprovals implements Approvals {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  /** @throws InvalidTurn */
  async list(list: ListApprovals = {}): Promise<ApprovalRow[]> {
    const { input } = checkedInput(listApprovals, list);
    return (await this.#connection.call<{ approvals: ApprovalRow[] }>(listApprovals, input)).approvals;
  }

  /** @throws AmbiguousRequest, InvalidTurn */
  async get(which: WhichRequest): Promise<ApprovalRow | undefined> {
    return await this.#find(namedRequest(which, getApproval.name));
  }

  /** @throws RequestNotFound, RequestNotPending, AmbiguousRequest, DecisionRefused, InvalidTurn */
  async confirm(which: WhichRequest, options: ConfirmOptions): Promise<Decided> {
    return await this.#decide(which, confirmRequest, checkedConfirm(options), options);
  }

  /** @throws as {@link confirm} */
  async provideInput(which: WhichRequest, options: ProvideInputOptions): Promise<Decided> {
    return await this.#decide(which, provideInput, checkedResponse(options), options);
  }

  /** @throws as {@link confirm} */
  async provideCredential(which: WhichRequest, options: ProvideCredentialOptions): Promise<Decided> {
    return await this.#decide(which, provideCredential, checkedCredential(options), options);
  }

  /** @throws SessionNotFound, InvalidTurn */
  async audit(which: WhichAudit): Promise<AuditRow[]> {
    const [operation, input] = auditOf(which, getAudit, getAuditById);
    return (await this.#connection.call<{ rows: AuditRow[] }>(operation, input)).rows;
  }

  /** @throws SessionNotFound, InvalidTurn */
  async verifyAudit(which: WhichAudit): Promise<AuditVerification> {
    const [operation, input] = auditOf(which, verifyAudit, verifyAuditById);
    return await this.#connection.call<AuditVerification>(operation, input);
  }

  async #decide(
    which: WhichRequest,
    operation: Operation,
    decision: object,
    options: AnswerOptions,
  ): Promise<Decided> {
    const { name } = operation;
    const { requestId } = await this.#named(namedRequest(which, name), name);
    return await this.#connection.call(operation, { requestId, ...decision, ...answerQuery(options) });
  }

  /** A request with an id of its own needs no lookup. */
  async #named(request: NamedRequest, method: string): Promise<{ requestId: string }> {
    const { requestId } = request.named;
    if (requestId !== undefined && request.names === undefined) return { requestId };
    const row = await this.#find(request);
    if (row === undefined) throw requestNotFound(method, request);
    return row;
  }

  async #find({ names, named }: NamedRequest): Promise<ApprovalRow | undefined> {
    try {
      return names === undefined
        ? await this.#connection.call<ApprovalRow>(getApproval, { ...named })
        : await this.#connection.call<ApprovalRow>(getSessionApproval, { ...names, ...named });
    } catch (error) {
      if (error instanceof RequestNotFound) return undefined;
      throw error;
    }
  }
}

/** The operation of the two that takes such a name. */
function auditOf(which: WhichAudit, named: Operation, byId: Operation): [Operation, Record<string, unknown>] {
  const operation = 'session' in which ? byId : named;
  return [operation, checkedInput(operation, which).input];
}
