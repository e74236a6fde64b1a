import { randomUUID } from 'node:crypto';
import type { TurnUsage } from '../../contract/sessions.ts';
import { placeOfCall } from '../../protocol/identity.ts';
import type { StepOutcome } from '../../protocol/step.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import type { JobNews } from '../jobs/job-row.ts';
import { eventArguments } from '../sessions/event-rows.ts';
import type {
  CommitStep,
  CommittedStep,
  NewEvent,
  PlannedRow,
  SettledStep,
  SettleStep,
} from './step-store.ts';

interface CommitAnswer {
  kind: 'committed' | 'recorded';
  seq: number;
  from: number;
  /** Of the invocation; where this call committed. */
  usage?: TurnUsage;
  /** Where another one had. */
  outcome?: StepOutcome;
}

export async function commitStep(database: Database, step: CommitStep): Promise<CommittedStep> {
  const { fence, calls, rows, requests = [], toolEdits, usage: used } = step;
  const appended = newEvents(step.events, step.agent);
  const answer = await callFunction<CommitAnswer>(database, 'commit_step', {
    session: step.session,
    invocation: step.invocationId,
    run_key: step.runKey,
    step: step.step,
    fence_started_at: fence.startedAt,
    fence_invocation: fence.invocation,
    agent: step.agent,
    branch: appended.events[0]?.branch,
    ...appended,
    ...(calls.length === 0
      ? {}
      : {
          call_keys: calls.map(({ callKey }) => callKey),
          call_ids: calls.map(({ callId }) => storableText(callId)),
          call_tools: calls.map(({ tool }) => storableText(tool)),
        }),
    rows: rows.length === 0 ? null : rows.map(plannedRow),
    model_calls: used.modelCalls,
    prompt_tokens: used.promptTokens,
    output_tokens: used.outputTokens,
    total_tokens: used.totalTokens,
    cost: used.cost,
    outcome: JsonDocument.of(withoutUsage(step.outcome)),
    ending_status: step.ending?.status,
    ending: hasNext(step.outcome) ? null : endingDocument(step.ending ?? step.outcome.outcome),
    requests: requests.length === 0 ? null : JsonDocument.of(requests),
    tool_edits: toolEdits && JsonDocument.of(toolEdits),
    ends: step.ends || null,
    artifacts: step.artifacts && JsonDocument.of(step.artifacts),
  });
  const { kind, seq, from, usage, outcome } = answer;
  const recorded = outcome ?? withUsage(step, usage as TurnUsage);
  return { kind, seq, from, outcome: placed(recorded, { session: step.session, seq, from }) };
}

function plannedRow({ callKey, index, callId, tool, args, response, actions }: PlannedRow) {
  return {
    key: callKey,
    idx: index,
    call_id: storableText(callId),
    tool: storableText(tool),
    args: args && JsonDocument.of(args),
    response: response && JsonDocument.of(response),
    actions: actions && JsonDocument.of(actions),
  };
}

/** Events of a step, and the state deltas that they carry. */
export function newEvents(given: readonly NewEvent[], author: string) {
  const deltas: JsonDocument[] = [];
  const events = given.map(({ kind, event }) => {
    const { delta, ...rest } = eventArguments(event, author);
    if (delta !== null) deltas.push(delta);
    return { id: randomUUID(), kind, ...rest };
  });
  return { events, deltas: deltas.length === 0 ? null : deltas };
}

type NextOutcome = Extract<StepOutcome, { kind: 'calls' | 'agents' }>;

/** Whether the run has another step after it. */
function hasNext(outcome: StepOutcome): outcome is NextOutcome {
  return outcome.kind === 'calls' || outcome.kind === 'agents';
}

/** Without what is known only when it is recorded. */
function withoutUsage(given: StepOutcome): unknown {
  if (hasNext(given)) {
    const { usage: _usage, ...rest } = given;
    return rest;
  }
  const { outcome: _outcome, ...rest } = given;
  return rest;
}

/** Without what the invocation used, which the statement adds. */
export function endingDocument({ usage: _usage, ...rest }: InvocationOutcome): JsonDocument {
  return JsonDocument.of(rest);
}

function withUsage({ outcome, ending }: CommitStep, usage: TurnUsage): StepOutcome {
  if (hasNext(outcome)) return { ...outcome, usage };
  return { ...outcome, outcome: { ...(ending ?? outcome.outcome), usage } };
}

export function placed(
  outcome: StepOutcome,
  place: { session: string; seq: number; from: number },
): StepOutcome {
  const { session, seq, from } = place;
  return hasNext(outcome) ? { ...outcome, session, seq } : { ...outcome, session, seq, from };
}

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
