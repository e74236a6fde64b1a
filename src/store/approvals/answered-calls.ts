import { randomUUID } from 'node:crypto';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { StoreBehindHistory } from '../store-errors.ts';
import { type BegunAnswer, begunCall, type ContextAnswer, namesOfContext } from '../turns/call-ledger.ts';
import { placeOfCall } from '../turns/call-place.ts';
import { type ApprovalColumns, approvalRow } from './approval-row.ts';
import type { BeginAnsweredCall, BegunAnsweredCall } from './approval-store.ts';
import { type EvidenceAnswer, evidenceOf } from './signatures.ts';

interface BeginAnswer {
  call?: BegunAnswer;
  closed?: ApprovalColumns;
  names?: ContextAnswer['names'];
  context?: ContextAnswer;
  siblings?: Record<string, unknown> | null;
  requests?: ApprovalColumns[];
  evidence?: EvidenceAnswer;
}

export async function beginAnsweredCall(
  database: Database,
  call: BeginAnsweredCall,
): Promise<BegunAnsweredCall> {
  const { step, index } = placeOfCall(call.callKey);
  const answer = await callFunction<BeginAnswer>(database, 'begin_answered', {
    session: call.session,
    call_key: call.callKey,
    run_key: call.runKey,
    step,
    index,
    call_id: storableText(call.callId),
    tool: storableText(call.tool),
    args_digest: call.argsDigest,
    // It keeps one beginning one attempt, however often it is sent.
    token: call.token ?? randomUUID(),
    want_args: call.wantArgs,
    sees_siblings: call.seesSiblings ?? false,
    request_id: storableText(call.requestId),
    entries: JsonDocument.of(call.entries),
    closes: call.closes ?? false,
    proven: call.proven,
    scheduled_at: call.scheduledAt,
  });
  const { call: begun, closed, names, context, siblings, requests, evidence } = answer;
  if (evidence !== undefined) return { kind: 'unproven', evidence: evidenceOf(evidence) };
  if (closed !== undefined && names !== undefined) {
    return { kind: 'closed', request: approvalRow(closed, namesOfContext(names)) };
  }
  const started = begunCall(call, begun, context && contextOf(context), context);
  if (started instanceof Error) throw started;
  if (started.kind === 'settled') return started;
  if (requests === undefined)
    throw new StoreBehindHistory(`call ${call.callKey} has no request in the store`);
  return {
    ...started,
    state: { ...started.state, ...siblings },
    requests: requests.map((request) => approvalRow(request, started.names)),
  };
}

function contextOf({ names, invocationId, content }: ContextAnswer) {
  return {
    names: namesOfContext(names),
    invocationId,
    userContent: content === null ? undefined : JSON.stringify(content),
  };
}
