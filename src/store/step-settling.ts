import type { InvocationOutcome } from '../protocol/turn.ts';
import { placeOfCall } from './call-place.ts';
import type { Database } from './database.ts';
import type { JobNews } from './job-row.ts';
import { jsonArray, jsonText, partsText, storableText } from './json-text.ts';
import { call, endingHead } from './step-writes.ts';
import type { SettledStep, SettleStep } from './store.ts';
import { eventColumns } from './stored-event.ts';

/** Calls and their actions, $9 and $16, are those of a session, $1. */
const END_LOST = 'select holdfast.end_lost_runs_1($1, $2, $3, $4)';

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
