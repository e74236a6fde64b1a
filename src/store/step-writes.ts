import type { StepOutcome } from '../protocol/step.ts';
import type { InvocationOutcome } from '../protocol/turn.ts';
import { placeOfCall } from './call-place.ts';
import type { Database } from './database.ts';
import { jsonArray, jsonText, storableText } from './json-text.ts';
import { newSessionId, sessionKeys } from './session-key.ts';
import type {
  CommitStep,
  CommittedStep,
  OpenedStep,
  OpenStep,
  SessionNames,
  SettledStep,
  SettleStep,
  StepUsage,
} from './store.ts';
import { type EventRow, eventColumns, storedEvent } from './stored-event.ts';

const OPEN = call('holdfast.open_step_1', 20, 'head, state, events');
const COMMIT = call('holdfast.commit_step_1', 25, 'head');
const SETTLE = call('holdfast.settle_step_1', 19, 'head');

function call(name: string, parameters: number, columns: string): string {
  const places = Array.from({ length: parameters }, (_, index) => `$${index + 1}`).join(', ');
  return `select ${columns} from ${name}(${places})`;
}

interface Recorded<Kind, Outcome> {
  kind: Kind;
  session: string;
  seq: number;
  from: number;
  agent: string | null;
  outcome: Outcome;
}

interface OpenHead {
  kind: 'open';
  session: string;
  names: SessionNames;
  seq: number;
  from: number;
  /** Whether this call appended the step's input. */
  appended: boolean;
  lastAgent: string | null;
  attempt: number;
  failures: number;
  usage: StepUsage;
}

interface OpenRow {
  head: OpenHead | Recorded<'finished', InvocationOutcome> | Recorded<'recorded', StepOutcome>;
  state: Record<string, unknown>;
  events: EventRow[] | null;
}

export async function openStep(
  database: Database,
  step: OpenStep,
): Promise<{ opened: OpenedStep; appended: boolean }> {
  const { identity, fence } = step;
  const keys = identity && sessionKeys(identity);
  const message = step.message && eventColumns(step.message, 'user');
  const [row] = await database.query<OpenRow>(OPEN, [
    identity ? newSessionId() : step.session,
    keys?.name,
    keys?.app,
    keys?.user,
    identity?.app,
    identity?.userId,
    identity?.sessionId,
    identity?.messageId,
    step.invocationId,
    step.runKey,
    step.step,
    fence.startedAt,
    fence.invocation,
    step.seq,
    message?.author,
    message?.branch,
    message?.body,
    message?.delta,
    step.session,
    step.knownSeq ?? 0,
  ]);
  const { head, state, events } = row as OpenRow;
  if (head.kind === 'finished') {
    return { opened: { ...head, agent: head.agent ?? undefined }, appended: false };
  }
  if (head.kind === 'recorded') {
    const { session, seq, from } = head;
    const outcome = placed(head.outcome, { session, seq, from });
    return { opened: { ...head, agent: head.agent ?? undefined, outcome }, appended: false };
  }
  const { appended, lastAgent, ...rest } = head;
  return {
    opened: { ...rest, state, events: (events ?? []).map(storedEvent), lastAgent: lastAgent ?? undefined },
    appended,
  };
}

interface CommitHead {
  kind: 'committed' | 'recorded';
  seq: number;
  from: number;
  outcome?: StepOutcome;
}

export async function commitStep(database: Database, step: CommitStep): Promise<CommittedStep> {
  const { fence, calls, rows } = step;
  const events = step.events.map(({ kind, event }) => ({ kind, ...eventColumns(event, step.agent) }));
  const [row] = await database.query<{ head: CommitHead }>(COMMIT, [
    step.session,
    step.invocationId,
    step.runKey,
    step.step,
    fence.startedAt,
    fence.invocation,
    step.agent,
    events.map(({ kind }) => kind),
    events.map(({ author }) => author),
    events.map(({ branch }) => branch),
    jsonArray(events.map(({ body }) => body)),
    jsonArray(events.map(({ delta }) => delta)),
    ...(calls.length === 0
      ? [null, null, null]
      : [
          calls.map(({ callKey }) => callKey),
          calls.map(({ callId }) => storableText(callId)),
          calls.map(({ tool }) => storableText(tool)),
        ]),
    rows.map(({ callKey }) => callKey),
    rows.map(({ index }) => index),
    rows.map(({ callId }) => storableText(callId)),
    rows.map(({ tool }) => storableText(tool)),
    jsonArray(rows.map(({ args }) => jsonText(args))),
    jsonArray(rows.map(({ response }) => jsonText(response))),
    JSON.stringify(step.usage),
    jsonText(step.outcome),
    step.ending?.status,
    step.ending && jsonText(step.ending),
  ]);
  const { kind, seq, from, outcome = step.outcome } = (row as { head: CommitHead }).head;
  return { kind, seq, from, outcome: placed(outcome, { session: step.session, seq, from }) };
}

interface SettleHead {
  seq: number;
  from: number;
  outcome: InvocationOutcome | null;
  appended?: boolean;
  settled?: [callKey: string, tool: string][] | null;
}

export async function settleStep(
  database: Database,
  step: SettleStep,
): Promise<{ settled: SettledStep; appended: boolean; calls: [callKey: string, tool: string][] }> {
  const { fence, unsettled, ending } = step;
  const error = ending?.errorEvent && eventColumns(ending.errorEvent, step.agent);
  const [row] = await database.query<{ head: SettleHead }>(SETTLE, [
    step.session,
    step.invocationId,
    step.runKey,
    step.step,
    fence.startedAt,
    fence.invocation,
    step.seq ?? 0,
    step.agent,
    unsettled.map(({ callKey }) => callKey),
    unsettled.map(({ callKey }) => placeOfCall(callKey).index),
    unsettled.map(({ callId }) => storableText(callId)),
    unsettled.map(({ tool }) => storableText(tool)),
    unsettled.map((call) => storableText(call.error)),
    ending?.outcome.status,
    ending && jsonText(ending.outcome),
    error?.author,
    error?.branch,
    error?.body,
    error?.delta,
  ]);
  const { seq, from, outcome, appended, settled } = (row as { head: SettleHead }).head;
  return {
    settled: { seq, from, ...(outcome ? { outcome } : {}) },
    appended: appended ?? false,
    calls: settled ?? [],
  };
}

function placed(outcome: StepOutcome, place: { session: string; seq: number; from: number }): StepOutcome {
  const { session, seq, from } = place;
  return outcome.kind === 'calls' ? { ...outcome, session, seq } : { ...outcome, session, seq, from };
}
