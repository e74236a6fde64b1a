import { randomUUID } from 'node:crypto';
import { type ApprovalColumns, approvalRow } from './approval-row.ts';
import type { BeginAnsweredCall, BegunAnsweredCall } from './approval-store.ts';
import { type BegunAnswer, begunCall, type ContextAnswer, namesOfContext } from './call-ledger.ts';
import { placeOfCall } from './call-place.ts';
import type { Database } from './database.ts';
import { jsonText, storableText } from './json-text.ts';
import { type RememberedColumn, remembered } from './remembered.ts';
import { type EvidenceAnswer, evidenceOf } from './signatures.ts';
import { StoreBehindHistory } from './store-errors.ts';

const BEGIN =
  'select holdfast.begin_answered_2($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) as answer, ' +
  `${remembered('$1', '$3')} as remembered`;

interface BeginAnswer {
  call?: BegunAnswer;
  closed?: ApprovalColumns;
  names?: ContextAnswer['names'];
  context?: Omit<ContextAnswer, 'remembered'>;
  siblings?: Record<string, unknown> | null;
  requests?: ApprovalColumns[];
  evidence?: EvidenceAnswer;
}

interface BeginRow {
  answer: BeginAnswer;
  remembered: RememberedColumn;
}

export async function beginAnsweredCall(
  database: Database,
  call: BeginAnsweredCall,
): Promise<BegunAnsweredCall> {
  const { step, index } = placeOfCall(call.callKey);
  const [row] = await database.query<BeginRow>(BEGIN, [
    call.session,
    call.callKey,
    call.runKey,
    step,
    index,
    storableText(call.callId),
    storableText(call.tool),
    call.argsDigest,
    // It keeps one beginning one attempt, however often it is sent.
    call.token ?? randomUUID(),
    call.wantArgs,
    call.seesSiblings ?? false,
    storableText(call.requestId),
    jsonText(call.entries),
    call.closes ?? false,
    call.proven ?? null,
    call.scheduledAt ?? null,
  ]);
  const { answer, remembered: kept } = row as BeginRow;
  const { call: begun, closed, names, context, siblings, requests, evidence } = answer;
  if (evidence !== undefined) return { kind: 'unproven', evidence: evidenceOf(evidence) };
  if (closed !== undefined && names !== undefined) {
    return { kind: 'closed', request: approvalRow(closed, namesOfContext(names)) };
  }
  const changing = context && { state: context.state, remembered: kept };
  const started = begunCall(call, begun, context && contextOf(context), changing);
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

function contextOf({ names, invocationId, content }: Omit<ContextAnswer, 'remembered'>) {
  return {
    names: namesOfContext(names),
    invocationId,
    userContent: content === null ? undefined : JSON.stringify(content),
  };
}
