import {
  type ConfirmOptions,
  confirmRequest,
  type ListApprovals,
  listApprovals,
  type ProvideCredentialOptions,
  type ProvideInputOptions,
  provideInput,
} from '../../contract/approvals.ts';
import { type AuditRow, type AuditVerification, getAudit, verifyAudit } from '../../contract/audit.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { CONFIRM, PROVIDE_CREDENTIAL, PROVIDE_INPUT } from '../../protocol/names.ts';
import { type ClientContext, storeOf } from '../client-context.ts';
import { isSameJson } from '../same-json.ts';
import { StoredApprovals } from '../stored-api.ts';
import { withOutageTold } from '../temporal-outage.ts';
import type { Approvals, Decided, WhichAudit, WhichRequest } from './approvals.ts';
import { checkedConfirm, checkedCredential, checkedResponse } from './check-decision.ts';
import { decide, type Said } from './decide.ts';
import { sealedInput, withoutSecrets } from './seal-decision.ts';

/** `approvals` of a `HoldfastClient`. */
export class ClientApprovals implements Approvals {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** @throws StoreNeeded, InvalidTurn */
  async list(list: ListApprovals = {}): Promise<ApprovalRow[]> {
    return await this.#stored(listApprovals.name).list(list);
  }

  /** @throws StoreNeeded, AmbiguousRequest, InvalidTurn */
  async get(which: WhichRequest): Promise<ApprovalRow | undefined> {
    return await this.#stored('approvals.get').get(which);
  }

  /**
   * Without a store the request is named with its session.
   *
   * @throws RequestNotFound, RequestNotPending, AmbiguousRequest, DecisionRefused, InvalidTurn, StoreNeeded
   */
  async confirm(which: WhichRequest, options: ConfirmOptions): Promise<Decided> {
    const { shown, ...decision } = checkedConfirm(options);
    return await this.#decide(which, {
      method: confirmRequest.name,
      order: CONFIRM,
      decision,
      ...(shown === undefined ? {} : { shown }),
      sealed: (row) => withoutSecrets(row, decision, confirmRequest.name),
      timeout: options.timeout,
      isSame: ({ status, editedArgs }) =>
        decision.withdraw === undefined &&
        status === (decision.confirmed ? 'approved' : 'rejected') &&
        isSameJson(decision.args, editedArgs),
    });
  }

  /** @throws as {@link confirm} */
  async provideInput(which: WhichRequest, options: ProvideInputOptions): Promise<Decided> {
    const { shown, ...decision } = checkedResponse(options);
    return await this.#decide(which, {
      method: provideInput.name,
      order: PROVIDE_INPUT,
      decision,
      ...(shown === undefined ? {} : { shown }),
      sealed: (row) => sealedInput(this.#context, row, { ...decision, isText: false }),
      timeout: options.timeout,
      isSame: ({ kind, status, response }) =>
        kind === 'input' && status === 'answered' && isSameJson(decision.response, response),
    });
  }

  /** @throws as {@link confirm} */
  async provideCredential(which: WhichRequest, options: ProvideCredentialOptions): Promise<Decided> {
    const { shown, ...decision } = checkedCredential(options);
    return await this.#decide(which, {
      method: 'approvals.provideCredential',
      order: PROVIDE_CREDENTIAL,
      decision,
      ...(shown === undefined ? {} : { shown }),
      timeout: options.timeout,
      isSame: ({ credentialRef, status }) =>
        status === 'answered' && credentialRef === decision.credentialRef,
    });
  }

  /** @throws StoreNeeded, SessionNotFound, InvalidTurn */
  async audit(which: WhichAudit): Promise<AuditRow[]> {
    return await this.#stored(getAudit.name).audit(which);
  }

  /** @throws StoreNeeded, SessionNotFound, InvalidTurn */
  async verifyAudit(which: WhichAudit): Promise<AuditVerification> {
    return await this.#stored(verifyAudit.name).verifyAudit(which);
  }

  async #decide(which: WhichRequest, said: Said): Promise<Decided> {
    return await withOutageTold(() => decide(this.#context, which, said));
  }

  #stored(what: string): StoredApprovals {
    return new StoredApprovals(storeOf(this.#context, what), this.#context.credentialKeys);
  }
}
