import type {
  ConfirmOptions,
  ListApprovals,
  ProvideCredentialOptions,
  ProvideInputOptions,
} from '../../contract/approvals.ts';
import { getAudit, getAuditById, listApprovals, verifyAudit } from '../../contract/approvals.ts';
import { CONFIRM, PROVIDE_CREDENTIAL, PROVIDE_INPUT } from '../../protocol/names.ts';
import type { ApprovalRow, AuditedRequest } from '../../store/approvals/approval-store.ts';
import type { AuditRow } from '../../store/sessions/session-store.ts';
import type { Store } from '../../store/store.ts';
import { SessionNotFound } from '../../store/store-errors.ts';
import { checkedFields, checkedInput } from '../checked-input.ts';
import { type ClientContext, storeOf } from '../client-context.ts';
import { isSameJson } from '../same-json.ts';
import type { Approvals, Decided, WhichAudit, WhichRequest } from './approvals.ts';
import { auditedSessions, readAudits, verifyAudits } from './audit-of-tree.ts';
import { checkedConfirm, checkedCredential, checkedResponse } from './check-decision.ts';
import { decide } from './decide.ts';
import { findRequest, namedRequest } from './find-request.ts';
import { sealedInput, withoutSecrets } from './seal-decision.ts';
import { shownAudit, shownRequest } from './shown-request.ts';

/** `approvals` of a `HoldfastClient`. */
export class ClientApprovals implements Approvals {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** @throws StoreNeeded, InvalidTurn */
  async list(list: ListApprovals = {}): Promise<ApprovalRow[]> {
    const store = this.#store(listApprovals.name);
    return (await store.approvals.list(checkedInput(listApprovals, list).input)).map(shownRequest);
  }

  /** @throws StoreNeeded, AmbiguousRequest, InvalidTurn */
  async get(which: WhichRequest): Promise<ApprovalRow | undefined> {
    const method = 'approvals.get';
    const row = await findRequest(this.#store(method), namedRequest(which, method), method);
    return row && shownRequest(row);
  }

  /**
   * Without a store the request is named with its session.
   *
   * @throws RequestNotFound, RequestNotPending, AmbiguousRequest, DecisionRefused, InvalidTurn, StoreNeeded
   */
  async confirm(which: WhichRequest, options: ConfirmOptions): Promise<Decided> {
    const { shown, ...decision } = checkedConfirm(options);
    return await decide(this.#context, which, {
      method: 'approvals.confirm',
      order: CONFIRM,
      decision,
      ...(shown === undefined ? {} : { shown }),
      sealed: (row) => withoutSecrets(row, decision, 'approvals.confirm'),
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
    return await decide(this.#context, which, {
      method: 'approvals.provideInput',
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
    return await decide(this.#context, which, {
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
    const method = getAudit.name;
    const store = this.#store(method);
    const session = await sessionIdOf(store, which, method);
    const sessions = await auditedSessions(store, which, session);
    const rows = await readAudits(sessions, (id) => shownAudit(store, id));
    if (rows.length === 0) throw noAudit(method, which);
    return rows;
  }

  /** @throws StoreNeeded, SessionNotFound, InvalidTurn */
  async verifyAudit(which: WhichAudit): Promise<AuditedRequest> {
    const method = verifyAudit.name;
    const store = this.#store(method);
    const session = await sessionIdOf(store, which, method);
    const sessions = await auditedSessions(store, which, session);
    const audited = await verifyAudits(store, sessions, this.#context.credentialKeys);
    if (audited.rows === 0 && audited.ok) throw noAudit(method, which);
    return audited;
  }

  #store(what: string): Store {
    return storeOf(this.#context, what);
  }
}

/** The store's id of a session, which its audit is kept under for ever. */
async function sessionIdOf(store: Store, which: WhichAudit, method: string): Promise<string> {
  if ('session' in which) {
    return checkedFields(getAuditById.input, which, method).session;
  }
  const found = await store.sessions.find(checkedFields(getAudit.input, which, method));
  if (found === undefined) throw noAudit(method, which);
  return found.session;
}

function noAudit(method: string, which: WhichAudit): SessionNotFound {
  const what = 'session' in which ? which.session : `${which.app}/${which.userId}/${which.sessionId}`;
  return new SessionNotFound(
    `${method}: there is no session ${what}: one that was deleted is named by the store's id of it, { session }`,
  );
}
