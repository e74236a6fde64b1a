import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import type { JobNews } from '../jobs/job-row.ts';
import { eventArguments } from '../sessions/stored-event.ts';
import type { SettledStep, SettleStep } from '../store.ts';
import { placeOfCall } from './call-place.ts';
import { endingDocument, newEvents } from './step-writes.ts';

const END_LOST = 'select holdfast.end_lost_runs($1, $2, $3, $4)';

/**
 * An agent of a call that was cut off before its first step was recorded knows of no session, and can't end it itself. Those of a
 * newer chain go on.
 */
const END_CALLED = `select holdfast.end_called(t.session_id) from (
    select * from holdfast.runs a where a.caller_session = $1 order by a.session_id offset 0
  ) t join holdfast.sessions s on s.id = t.session_id
  where t.status = 'running' and t.caller_run = $2 and (t.fence_started_at, t.fence_invocation) <= ($3, $4)
    and ($5::text[] is null or s.call_key = any ($5))`;

type SettledCalls = [callKey: string, tool: string, failed: boolean][];

interface SettleAnswer {
  seq: number;
  from: number;
  outcome: InvocationOutcome | null;
  appended?: boolean;
  settled?: SettledCalls | null;
  news?: JobNews[] | null;
  cutOff: [callKey: string, callId: string][] | null;
}

export async function settleStep(
  database: Database,
  step: SettleStep,
): Promise<{ settled: SettledStep; appended: boolean; calls: SettledCalls; news: JobNews[] }> {
  const { fence, unsettled, ending, lost = [] } = step;
  if (lost.length > 0) {
    const runs = lost.map(({ runKey }) => storableText(runKey));
    await database.query(END_LOST, [step.session, runs, fence.startedAt, fence.invocation]);
  }
  if (unsettled.length > 0 || ending !== undefined) {
    // Of a turn that goes on, an attempt that comes late may meet agents of later calls.
    const calls = ending === undefined ? unsettled.map(({ callKey }) => callKey) : null;
    await database.query(END_CALLED, [step.session, step.runKey, fence.startedAt, fence.invocation, calls]);
  }
  const answer = await callFunction<SettleAnswer>(database, 'settle_step', {
    session: step.session,
    invocation: step.invocationId,
    run_key: step.runKey,
    step: step.step,
    fence_started_at: fence.startedAt,
    fence_invocation: fence.invocation,
    seq: step.seq ?? 0,
    agent: step.agent,
    ...(unsettled.length === 0
      ? {}
      : { calls: unsettled.map(settledRow), call_keys: unsettled.map(({ callKey }) => callKey) }),
    ...(ending === undefined ? {} : endingArguments(ending, step.agent)),
  });
  const { seq, from, outcome, appended, settled, news, cutOff } = answer;
  return {
    settled: {
      ...{ seq, from },
      ...(outcome ? { outcome } : {}),
      ...(cutOff ? { cutOff: cutOff.map(([callKey, callId]) => ({ callKey, callId })) } : {}),
    },
    appended: appended ?? false,
    calls: settled ?? [],
    news: news ?? [],
  };
}

function settledRow(call: SettleStep['unsettled'][number]) {
  const { response = { error: call.error }, failed = 'error' in response, actions = {}, parts = [] } = call;
  const { step, index } = placeOfCall(call.callKey);
  return {
    key: call.callKey,
    step,
    idx: index,
    call_id: storableText(call.callId),
    tool: storableText(call.tool),
    response: JsonDocument.of(response),
    failed,
    actions: JsonDocument.of(actions),
    parts: parts.length === 0 ? null : JsonDocument.of(parts),
  };
}

function endingArguments(
  { outcome, cutOff, responses, events = [] }: NonNullable<SettleStep['ending']>,
  agent: string,
) {
  return {
    ending_status: outcome.status,
    ending: endingDocument(outcome),
    cut_off: cutOff === undefined ? null : storableText(cutOff),
    responses: responses && eventArguments(responses, agent),
    ...newEvents(events, agent),
  };
}
