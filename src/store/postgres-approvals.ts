import { beginAnsweredCall } from './approvals/answered-calls.ts';
import type {
  ApprovalRow,
  ApprovalStore,
  AuditedRequest,
  BeginAnsweredCall,
  BegunAnsweredCall,
  Evidence,
  KeptResponse,
  ListApprovals,
  SealedCredential,
  StoredCredential,
  StoredSignature,
  SuspendCall,
} from './approvals/approval-store.ts';
import { findApproval, findRequest, listApprovals } from './approvals/approvals-read.ts';
import { recordEntries, suspendCall } from './approvals/approvals-write.ts';
import { verifyAudit } from './approvals/audit-verify.ts';
import { findResponse, keepResponse } from './approvals/kept-responses.ts';
import { findEvidence, hastenRequest, listSignatures, recordSigned } from './approvals/signatures.ts';
import {
  findCredential,
  listCredentials,
  putCredential,
  removeCredential,
  swapCredential,
} from './credentials/credential-rows.ts';
import type { Database } from './engine/database.ts';
import type { Notices } from './live/notices.ts';
import { PostgresSlack } from './postgres-slack.ts';

/** What the store knows of requests to people. */
export class PostgresApprovals extends PostgresSlack implements ApprovalStore {
  readonly #database: Database;
  readonly #notices: Notices;

  constructor(database: Database, notices: Notices) {
    super(database);
    this.#database = database;
    this.#notices = notices;
  }

  recordEntries(record: Parameters<ApprovalStore['recordEntries']>[0]): Promise<void> {
    return recordEntries(this.#database, record);
  }

  recordSigned(record: Parameters<ApprovalStore['recordSigned']>[0]): Promise<void> {
    return recordSigned(this.#database, record);
  }

  findEvidence(session: string, callKey: string): Promise<Evidence> {
    return findEvidence(this.#database, session, callKey);
  }

  hastenRequest(session: string, requestId: string): Promise<void> {
    return hastenRequest(this.#database, session, requestId);
  }

  listSignatures(session: string): Promise<StoredSignature[]> {
    return listSignatures(this.#database, session);
  }

  async beginAnsweredCall(call: BeginAnsweredCall): Promise<BegunAnsweredCall> {
    const begun = await beginAnsweredCall(this.#database, call);
    if (begun.kind === 'started' && !call.closes) {
      const { session, runKey, callKey, tool } = call;
      const { attempt } = begun;
      this.#notices.tell({ type: 'call started', session, runKey, callKey, tool, attempt });
    }
    return begun;
  }

  async suspendCall(suspend: SuspendCall): Promise<boolean> {
    const suspended = await suspendCall(this.#database, suspend);
    if (suspended?.appended) {
      this.#notices.tell({ type: 'appended', session: suspend.session, seq: suspended.seq });
    }
    return suspended !== undefined;
  }

  keepResponse(response: KeptResponse): Promise<void> {
    return keepResponse(this.#database, response);
  }

  findResponse(
    find: Parameters<ApprovalStore['findResponse']>[0],
  ): ReturnType<ApprovalStore['findResponse']> {
    return findResponse(this.#database, find);
  }

  findRequest(session: string, requestId: string): Promise<ApprovalRow | undefined> {
    return findRequest(this.#database, session, requestId);
  }

  findApproval(requestId: string): Promise<ApprovalRow | undefined> {
    return findApproval(this.#database, requestId);
  }

  listApprovals(list: ListApprovals = {}): Promise<ApprovalRow[]> {
    return listApprovals(this.#database, list);
  }

  verifyAudit(session: string): Promise<AuditedRequest> {
    return verifyAudit(this.#database, session);
  }

  putCredential(credential: Omit<SealedCredential, 'createdAt'>): Promise<StoredCredential> {
    return putCredential(this.#database, credential);
  }

  swapCredential(swap: Parameters<ApprovalStore['swapCredential']>[0]): Promise<boolean> {
    return swapCredential(this.#database, swap);
  }

  findCredential(
    find: Parameters<ApprovalStore['findCredential']>[0],
  ): Promise<SealedCredential | undefined> {
    return findCredential(this.#database, find);
  }

  listCredentials(list: { app: string; userId?: string }): Promise<StoredCredential[]> {
    return listCredentials(this.#database, list);
  }

  removeCredential(remove: Parameters<ApprovalStore['removeCredential']>[0]): Promise<boolean> {
    return removeCredential(this.#database, remove);
  }
}
