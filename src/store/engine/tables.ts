import type { Generated, JSONColumnType } from 'kysely';
import type { AuditRow } from '../../contract/audit.ts';
import type { EventKind } from '../../contract/events.ts';
import type { DeniedKind, Grant } from '../../contract/keys.ts';
import type { Content } from '../../events/content.ts';
import type { Event } from '../../events/event.ts';
import type { InvocationStatus } from '../../protocol/agent-run.ts';
import type { DeliverNotice, NotifyInput } from '../../protocol/gate.ts';
import type { TurnRunConfig } from '../../protocol/run-terms.ts';
import type { StepOutcome } from '../../protocol/step.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { APPROVAL_COLUMNS, SIGNATURE_COLUMNS } from '../approvals/approval-row.ts';
import type { ArtifactContent } from '../artifacts/artifact-store.ts';
import type { JOB_COLUMNS } from '../jobs/job-row.ts';
import type { InboxRow } from '../messages/message-store.ts';
import type { CallActions } from '../turns/call-store.ts';
import type { BigInteger, ColumnsOf } from './row.ts';

/** The columns that typed queries read. The functions of `schema/` do the writing. */
export interface Tables {
  'holdfast.sessions': {
    id: string;
    name_key: string;
    app: string;
    user_id: string;
    name: string;
    last_seq: BigInteger;
    last_agent: string | null;
    fence_started_at: BigInteger;
    fence_invocation: number;
    created_at: Generated<Date>;
    caller_session: string | null;
    caller_run: string | null;
    call_key: string | null;
    agent_path: JSONColumnType<string[]> | null;
    root_session: string | null;
    root_run: string | null;
  };
  'holdfast.events': {
    session_id: string;
    seq: BigInteger;
    id: string;
    run_key: string;
    step: number;
    kind: EventKind;
    body: JSONColumnType<Omit<Event, 'id' | 'timestamp'>>;
    dedupe_key: string;
    created_at: Generated<Date>;
  };
  'holdfast.runs': {
    session_id: string;
    run_key: string;
    invocation_id: string;
    message_id: string | null;
    status: InvocationStatus;
    outcome: JSONColumnType<InvocationOutcome> | null;
    first_seq: BigInteger;
    last_seq: BigInteger;
  };
  'holdfast.ledger': {
    session_id: string;
    key: string;
    kind: 'step' | 'call';
    status: 'planned' | 'started' | 'settled';
    attempts: number;
    ended: number;
    args: JSONColumnType<Record<string, unknown>> | null;
    prepared: JSONColumnType<CallActions> | null;
    once: JSONColumnType<Record<string, unknown>> | null;
    outcome: JSONColumnType<StepOutcome> | null;
    response: JSONColumnType<Record<string, unknown>> | null;
  };
  'holdfast.audit': {
    session_id: string;
    n: number;
    at: Generated<Date>;
    kind: AuditRow['kind'];
    facts: JSONColumnType<AuditRow['facts']>;
    hash: string;
    content: JSONColumnType<Record<string, unknown>> | null;
    salt: string | null;
  };
  'holdfast.approvals': ColumnsOf<typeof APPROVAL_COLUMNS> & { app_key: string; user_key: string };
  'holdfast.signatures': ColumnsOf<typeof SIGNATURE_COLUMNS> & { session_id: string };
  'holdfast.jobs': ColumnsOf<typeof JOB_COLUMNS> & {
    app_key: string;
    user_key: string;
    told_at: BigInteger | null;
  };
  'holdfast.credentials': {
    user_key: string;
    app_key: string;
    app: string;
    user_id: string;
    credential_key: string;
    credential_ref: string;
    auth_type: string;
    label: string | null;
    key_id: string;
    sealed: string;
    created_at: Generated<Date>;
    scopes: string | null;
    expires_at: BigInteger | null;
    account: string | null;
    lease_by: string | null;
    lease_until: BigInteger | null;
  };
  'holdfast.notice_notes': {
    notifier: string;
    request_id: string;
    session_id: string;
    place: string | null;
    value: unknown;
    telling_until: Date | null;
    ended: Generated<boolean>;
  };
  'holdfast.dead_notices': {
    notice_id: string;
    notifier: string;
    app: string;
    session_id: string;
    request_id: string;
    why: NotifyInput['why'];
    error: string;
    attempts: number;
    input: JSONColumnType<{ notice: DeliverNotice; taskQueue: string }>;
    died_at: Generated<Date>;
  };
  'holdfast.api_keys': {
    key_id: string;
    name: string;
    user_id: string | null;
    grants: JSONColumnType<Grant[]>;
    digest: Buffer;
    old_digest: Buffer | null;
    old_until: Date | null;
    created_at: Generated<Date>;
    expires_at: Date | null;
    rotated_at: Date | null;
    revoked_at: Date | null;
    used_at: Date | null;
  };
  'holdfast.denials': {
    minute: Date;
    kind: Buffer;
    facts: JSONColumnType<DeniedKind>;
    count: BigInteger;
    first_at: Date;
    last_at: Date;
  };
  'holdfast.inbox': {
    session_id: string;
    invocation_id: string;
    message_id: string;
    status: InboxRow['status'];
    chain_started_at: BigInteger;
    place: number;
    digest: string;
    bytes: BigInteger;
    agent: string | null;
    run_config: JSONColumnType<TurnRunConfig> | null;
    reason: string | null;
    created_at: Generated<Date>;
  };
  'holdfast.migrations': {
    version: number;
    name: string;
    applied_at: Generated<Date>;
  };
  'holdfast.blobs': {
    id: string;
    sha256: string | null;
    size: BigInteger | null;
    block_digests: Uint8Array | null;
    bucket: string | null;
  };
  'holdfast.blob_blocks': {
    blob_id: string;
    nth: number;
    bytes: Uint8Array;
  };
  'holdfast.artifact_versions': {
    name: string;
    version: BigInteger;
    kind: ArtifactContent['kind'] | null;
    blob_id: string | null;
    mime_type: string | null;
    display_name: string | null;
    uri: string | null;
    metadata: JSONColumnType<Record<string, unknown>> | null;
    created_at: Generated<Date>;
  };
  'holdfast.memories': {
    id: BigInteger;
    author: string | null;
    content: JSONColumnType<Content>;
    metadata: JSONColumnType<Record<string, unknown>> | null;
    said_at: Date;
  };
}
