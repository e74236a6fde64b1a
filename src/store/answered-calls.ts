import { randomUUID } from 'node:crypto';
import { type ApprovalColumns, approvalRow } from './approval-row.ts';
import type { BeginAnsweredCall, BegunAnsweredCall } from './approval-store.ts';
import { type BegunAnswer, begunCall, type ContextAnswer, namesOfContext } from './call-ledger.ts';
import { placeOfCall } from './call-place.ts';
import type { Database } from './database.ts';
import { jsonText, storableText } from './json-text.ts';
import { StoreBehindHistory } from './store-errors.ts';

const BEGIN =
  'select holdfast.begin_answered_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) as answer';

interface BeginAnswer {
  call?: BegunAnswer;
  closed?: ApprovalColumns;
  names?: ContextAnswer['names'];
  context?: ContextAnswer;
  siblings?: Record<string, unknown> | null;
  requests?: ApprovalColumns[];
}

export async function beginAnsweredCall(
  database: Database,
  call: BeginAnsweredCall,
): Promise<BegunAnsweredCall> {
  const { step, index } = placeOfCall(call.callKey);
  const [row] = await database.query<{ answer: BeginAnswer }>(BEGIN, [
    call.session,
    call.callKey,
    call.runKey,
    step,
    index,
    storableText(call.callId),
    storableText(call.tool),
    call.argsDigest,
    // It keeps one beginning one attempt, however often it is sent.
    randomUUID(),
    call.wantArgs,
    call.seesSiblings ?? false,
    storableText(call.requestId),
    jsonText(call.entries),
  ]);
  const { call: begun, closed, names, context, siblings, requests } = (row as { answer: BeginAnswer }).answer;
  if (closed !== undefined && names !== undefined) {
    return { kind: 'closed', request: approvalRow(closed, namesOfContext(names)) };
  }
  const started = begunCall(call, begun, context && contextOf(context), context?.state);
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
