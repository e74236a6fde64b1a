import type {
  ApprovalRow,
  ApprovalTerms,
  GateKind,
  RecordedEntry,
  RequestStatus,
} from '../../contract/requests.ts';
import type { AuthConfig } from '../../events/event-actions.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { StoredSignature } from './approval-store.ts';

/** A row of `holdfast.approvals`, as a query or as JSON gives it: only the latter has numbers for its times. */
export interface ApprovalColumns {
  session_id: string;
  request_id: string;
  run_key: string;
  invocation_id: string;
  call_key: string;
  call_id: string;
  kind: GateKind;
  tool: string;
  agent: string;
  path: string[];
  workflow_id: string;
  root_workflow_id: string;
  requester: string | null;
  hint: string;
  payload: unknown;
  args: Record<string, unknown>;
  args_digest: string;
  gate_digest: string;
  sensitive: boolean | string[];
  terms: ApprovalTerms;
  response_schema: unknown;
  auth_config: AuthConfig | null;
  status: RequestStatus;
  since: number | string;
  until: number | string | null;
  escalated_at: number | string | null;
  decided_at: number | string | null;
  votes: ApprovalRow['votes'];
  history: RecordedEntry[];
  reason: string | null;
  edited_args: Record<string, unknown> | null;
  answer_payload: unknown;
  response: unknown;
  response_ref: string | null;
  credential_ref: string | null;
}

/** A row of `holdfast.signatures`, as a query or as JSON gives it: only the latter has numbers for its times. */
export interface SignatureColumns {
  session_id: string;
  request_id: string;
  digest: string;
  n: number;
  at: number | string;
  came_at: number | string;
  says: StoredSignature['says'];
  principal: string;
  jws: string;
  key: StoredSignature['key'];
  signed_response: string | null;
  meant_response: string | null;
}

export function approvalRow(row: ApprovalColumns, { app, userId, sessionId }: SessionNames): ApprovalRow {
  // The only JSON for which null is something else than nothing.
  const responded = row.kind === 'input' && row.status === 'answered';
  return {
    session: row.session_id,
    app,
    userId,
    sessionId,
    requestId: row.request_id,
    runKey: row.run_key,
    invocationId: row.invocation_id,
    callKey: row.call_key,
    callId: row.call_id,
    kind: row.kind,
    tool: row.tool,
    agent: row.agent,
    path: row.path,
    workflowId: row.workflow_id,
    rootWorkflowId: row.root_workflow_id,
    ...given('requester', row.requester),
    hint: row.hint,
    ...given('payload', row.payload),
    args: row.args,
    argsDigest: row.args_digest,
    gateDigest: row.gate_digest,
    sensitive: row.sensitive,
    terms: row.terms,
    ...given('responseSchema', row.response_schema),
    ...given('authConfig', row.auth_config),
    status: row.status,
    since: Number(row.since),
    ...given('until', timeOf(row.until)),
    ...given('escalatedAt', timeOf(row.escalated_at)),
    ...given('decidedAt', timeOf(row.decided_at)),
    votes: row.votes,
    history: row.history,
    ...given('reason', row.reason),
    ...given('editedArgs', row.edited_args),
    ...given('answerPayload', row.answer_payload),
    ...(responded ? { response: row.response } : {}),
    ...given('responseRef', row.response_ref),
    ...given('credentialRef', row.credential_ref),
  };
}

function given<Field extends string, Value>(
  field: Field,
  value: Value | null,
): { [key in Field]?: NonNullable<Value> } {
  return (value === null ? {} : { [field]: value }) as { [key in Field]?: NonNullable<Value> };
}

function timeOf(value: number | string | null): number | null {
  return value === null ? null : Number(value);
}
