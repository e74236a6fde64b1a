import type { DecisionReceipt } from '../../protocol/gate.ts';
import type { ApprovalRow, AuditedRequest, ListApprovals } from '../../store/approvals/approval-store.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { AuditRow } from '../../store/sessions/session-store.ts';
import { RequestNotFound } from '../client-errors.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import { auditPath, requestPath, sessionPath, withQuery } from '../gateway-paths.ts';
import { answerQuery } from '../turns/gateway-turn.ts';
import type { AnswerOptions, Confirmed } from '../turns/steering.ts';
import type {
  Approvals,
  ConfirmOptions,
  ProvideCredentialOptions,
  ProvideInputOptions,
  WhichAudit,
  WhichRequest,
} from './approvals.ts';
import { checkList } from './check-approval-list.ts';
import { checkedConfirm, checkedCredential, checkedInput } from './check-decision.ts';
import { checkedShown } from './check-shown.ts';
import { type NamedRequest, namedRequest, requestNotFound } from './find-request.ts';

/** `approvals` of a `GatewayClient`: as those of `HoldfastClient`. */
export class GatewayApprovals implements Approvals {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  /** @throws InvalidTurn */
  async list(list: ListApprovals = {}): Promise<ApprovalRow[]> {
    checkList(list);
    const { app, userId, sessionId, rootWorkflowId, kind, status, limit, order, after } = list;
    const query = {
      ...{ app, user: userId, session: sessionId, rootWorkflowId, kind, limit, order },
      status: status?.join(','),
      afterTime: after?.since,
      afterRequest: after?.requestId,
    };
    const path = withQuery('/v1/approvals', query);
    return (await this.#connection.ask<{ approvals: ApprovalRow[] }>(path)).approvals;
  }

  /** @throws AmbiguousRequest, InvalidTurn */
  async get(which: WhichRequest): Promise<ApprovalRow | undefined> {
    return await this.#find(namedRequest(which, 'approvals.get'), 'approvals.get');
  }

  /** @throws RequestNotFound, RequestNotPending, AmbiguousRequest, DecisionRefused, InvalidTurn */
  async confirm(which: WhichRequest, options: ConfirmOptions): Promise<Confirmed<DecisionReceipt>> {
    return await this.#decide(which, { method: 'approvals.confirm', order: 'confirm' }, options, {
      ...checkedConfirm(options),
      ...checkedShown(options, 'approvals.confirm'),
    });
  }

  /** @throws as {@link confirm} */
  async provideInput(which: WhichRequest, options: ProvideInputOptions): Promise<Confirmed<DecisionReceipt>> {
    const how = { method: 'approvals.provideInput', order: 'provide-input' };
    return await this.#decide(which, how, options, {
      ...checkedInput(options),
      ...checkedShown(options, how.method),
    });
  }

  /** @throws as {@link confirm} */
  async provideCredential(
    which: WhichRequest,
    options: ProvideCredentialOptions,
  ): Promise<Confirmed<DecisionReceipt>> {
    const how = { method: 'approvals.provideCredential', order: 'provide-credential' };
    return await this.#decide(which, how, options, {
      ...checkedCredential(options),
      ...checkedShown(options, how.method),
    });
  }

  /** @throws SessionNotFound, InvalidTurn */
  async audit(which: WhichAudit): Promise<AuditRow[]> {
    const path = auditPath(which, 'approvals.audit');
    return (await this.#connection.ask<{ rows: AuditRow[] }>(path)).rows;
  }

  /** @throws SessionNotFound, InvalidTurn */
  async verifyAudit(which: WhichAudit): Promise<AuditedRequest> {
    const path = auditPath(which, 'approvals.verifyAudit');
    return await this.#connection.ask<AuditedRequest>(`${path}/verification`);
  }

  async #decide(
    which: WhichRequest,
    { method, order }: { method: string; order: string },
    options: AnswerOptions,
    body: object,
  ): Promise<Confirmed<DecisionReceipt>> {
    const request = namedRequest(which, method);
    const { requestId } = await this.#named(request, method);
    const path = withQuery(`${requestPath(requestId, method)}/${order}`, answerQuery(options));
    return await this.#connection.ask(path, { method: 'POST', body });
  }

  /** What has an id of its own needs no looking up. */
  async #named(request: NamedRequest, method: string): Promise<{ requestId: string }> {
    const { requestId } = request.named;
    if (requestId !== undefined && request.names === undefined) return { requestId };
    const row = await this.#find(request, method);
    if (row === undefined) throw requestNotFound(method, request);
    return row;
  }

  async #find({ names, named }: NamedRequest, method: string): Promise<ApprovalRow | undefined> {
    const { requestId, callKey, callId } = named;
    const path =
      names === undefined
        ? requestPath(requestId ?? '', method)
        : withQuery(`${sessionPath(names as SessionNames, method)}/approval`, { requestId, callKey, callId });
    try {
      return await this.#connection.ask<ApprovalRow>(path);
    } catch (error) {
      if (error instanceof RequestNotFound) return undefined;
      throw error;
    }
  }
}
