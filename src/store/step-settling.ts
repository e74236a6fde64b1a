import type { InvocationOutcome } from '../protocol/turn.ts';
import { placeOfCall } from './call-place.ts';
import type { Database } from './database.ts';
import type { JobNews } from './job-row.ts';
import { jsonArray, jsonText, partsText, storableText } from './json-text.ts';
import { call, endingHead } from './step-writes.ts';
import type { SettledStep, SettleStep } from './store.ts';
import { eventColumns } from './stored-event.ts';

const END_LOST = 'select holdfast.end_lost_runs_1($1, $2, $3, $4)';

/**
 * An agent of a call that was cut off before its first step was recorded knows of no session, and can't end it itself. Those of a
 * newer chain go on.
 */
const END_CALLED = `select holdfast.end_called_1(t.session_id) from (
    select * from holdfast.runs a where a.caller_session = $1 order by a.session_id offset 0
  ) t join holdfast.sessions s on s.id = t.session_id
  where t.status = 'running' and t.caller_run = $2 and (t.fence_started_at, t.fence_invocation) <= ($3, $4)
    and ($5::text[] is null or s.call_key = any ($5))`;

/** Calls and their actions, $9 and $16, are those of a session, $1. */
const SETTLE = call('holdfast.settle_step_3', 29).replace('$16', 'holdfast.unsettled_actions_1($1, $9, $16)');

type SettledCalls = [callKey: string, tool: string, failed: boolean][];

interface SettleAnswer {
  seq: number;
  from: number;
  outcome: InvocationOutcome | null;
  appended?: boolean;
  settled?: SettledCalls | null;
}

interface SettleRow {
  answer: {
    answer: SettleAnswer;
    news: JobNews[] | null;
    cutOff: [callKey: string, callId: string][] | null;
  };
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
  const outcomes = unsettled.map(outcomeOf);
  const responses = ending?.responses && eventColumns(ending.responses, step.agent);
  const events = (ending?.events ?? []).map(({ kind, event }) => ({
    kind,
    ...eventColumns(event, step.agent),
  }));
  const [row] = await database.query<SettleRow>(SETTLE, [
    step.session,
    step.invocationId,
    step.runKey,
    step.step,
    fence.startedAt,
    fence.invocation,
    step.seq ?? 0,
    step.agent,
    unsettled.map(({ callKey }) => callKey),
    unsettled.map(({ callKey }) => placeOfCall(callKey).step),
    unsettled.map(({ callKey }) => placeOfCall(callKey).index),
    unsettled.map(({ callId }) => storableText(callId)),
    unsettled.map(({ tool }) => storableText(tool)),
    jsonArray(outcomes.map(({ response }) => response)),
    outcomes.map(({ failed }) => failed),
    jsonArray(outcomes.map(({ actions }) => actions)),
    jsonArray(outcomes.map(({ parts }) => parts)),
    ending?.outcome.status,
    ending && endingHead(ending.outcome),
    ending?.cutOff === undefined ? null : storableText(ending.cutOff),
    responses?.author,
    responses?.branch,
    responses?.body,
    responses?.delta,
    events.map(({ kind }) => kind),
    events.map(({ author }) => author),
    events.map(({ branch }) => branch),
    jsonArray(events.map(({ body }) => body)),
    events.some(({ delta }) => delta !== null) ? jsonArray(events.map(({ delta }) => delta)) : null,
  ]);
  const { answer, news, cutOff } = (row as SettleRow).answer;
  const { seq, from, outcome, appended, settled } = answer;
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

function outcomeOf(call: SettleStep['unsettled'][number]): {
  response: string;
  failed: boolean;
  actions: string;
  parts: string | null;
} {
  const { response = { error: call.error }, failed = 'error' in response, actions = {}, parts } = call;
  return { response: jsonText(response), failed, actions: jsonText(actions), parts: partsText(parts) };
}
