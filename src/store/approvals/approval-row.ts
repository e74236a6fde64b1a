import type {
  ApprovalRow,
  ApprovalTerms,
  GateKind,
  RecordedEntry,
  RequestStatus,
} from '../../contract/requests.ts';
import type { AuthConfig } from '../../events/event-actions.ts';
import { bigint, integer, json, orNull, rowReader, type StoredRow, text } from '../engine/row.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { StoredSignature } from './approval-store.ts';

type Json = Record<string, unknown>;

/** The columns of `holdfast.approvals` that a request's fields come from, in the order of the fields. */
export const APPROVAL_COLUMNS = {
  session_id: text('session'),
  request_id: text(),
  run_key: text(),
  invocation_id: text(),
  call_key: text(),
  call_id: text(),
  kind: text<GateKind>(),
  tool: text(),
  agent: text(),
  path: json<string[]>(),
  workflow_id: text(),
  root_workflow_id: text(),
  requester: orNull(text()),
  hint: text(),
  payload: orNull(json()),
  args: json<Json>(),
  args_digest: text(),
  gate_digest: text(),
  sensitive: json<boolean | string[]>(),
  terms: json<ApprovalTerms>(),
  response_schema: orNull(json()),
  auth_config: orNull(json<AuthConfig>()),
  status: text<RequestStatus>(),
  since: bigint(),
  until: orNull(bigint()),
  escalated_at: orNull(bigint()),
  decided_at: orNull(bigint()),
  votes: json<ApprovalRow['votes']>(),
  history: json<RecordedEntry[]>(),
  reason: orNull(text()),
  edited_args: orNull(json<Json>()),
  answer_payload: orNull(json()),
  response: orNull(json()),
  response_ref: orNull(text()),
  credential_ref: orNull(text()),
};
const readRequest = rowReader(APPROVAL_COLUMNS);

/** The columns of `holdfast.signatures`, but for the session's. */
export const SIGNATURE_COLUMNS = {
  request_id: text(),
  digest: text(),
  says: text<StoredSignature['says']>(),
  principal: text(),
  jws: text(),
  key: json<StoredSignature['key']>(),
  came_at: bigint(),
  signed_response: orNull(text()),
  meant_response: orNull(text()),
  n: integer(),
  at: bigint(),
};
const readSignature = rowReader(SIGNATURE_COLUMNS);

export type ApprovalColumns = StoredRow<typeof APPROVAL_COLUMNS>;
export type SignatureColumns = StoredRow<typeof SIGNATURE_COLUMNS>;

export function approvalRow(row: ApprovalColumns, names: SessionNames): ApprovalRow {
  const { session, ...request } = readRequest(row);
  const read = { session, ...names, ...request } satisfies Record<keyof ApprovalRow, unknown>;
  // The only JSON for which null is something else than nothing.
  if (row.kind === 'input' && row.status === 'answered') return { ...read, response: row.response };
  const { response: _, ...unanswered } = read;
  return unanswered;
}

export function storedSignature(row: SignatureColumns): StoredSignature {
  return readSignature(row) satisfies Record<keyof StoredSignature, unknown>;
}
