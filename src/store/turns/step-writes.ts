import { randomUUID } from 'node:crypto';
import type { StepOutcome } from '../../protocol/step.ts';
import type { InvocationOutcome, TurnUsage } from '../../protocol/turn.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { type JobNews, type JobOfMessageAnswer, jobOfMessage } from '../jobs/job-row.ts';
import { type InboxEntry, waitingMessage } from '../messages/inbox.ts';
import { newSession } from '../sessions/session-key.ts';
import { type StateParts, stateOf } from '../sessions/state-parts.ts';
import { type EventRow, eventArguments, storedEvent } from '../sessions/stored-event.ts';
import type {
  AskedTurn,
  CommitStep,
  CommittedStep,
  NewEvent,
  OpenedStep,
  OpenStep,
  PlannedRow,
  SessionNames,
} from '../store.ts';
import { type RememberedColumn, rememberedOf } from './remembered.ts';
import { type SessionUsageColumns, sessionUsageOf, type UsageColumns, usageOf } from './usage-columns.ts';

interface Told {
  session: string;
  seq: number;
  from: number;
  inbox: InboxEntry[] | null;
}

export interface BehindAnswer {
  kind: 'behind';
  session: string;
  seq: number;
  inbox: InboxEntry[];
}

interface FinishedAnswer extends Told {
  kind: 'finished';
  agent: string | null;
  outcome: InvocationOutcome;
}

interface RecordedAnswer extends Told {
  kind: 'recorded';
  agent: string | null;
  outcome: StepOutcome;
  startedAt: number;
  age: number;
  sessionUsage: SessionUsageColumns;
  tree: TreeAnswer | null;
}

interface OpenAnswer extends Told {
  kind: 'open';
  names: SessionNames;
  /** Whether this call appended the step's input. */
  appended: boolean;
  lastAgent: string | null;
  attempt: number;
  failures: number;
  lost: number;
  once: Record<string, unknown> | null;
  asked: AskedColumn | null;
  age: number;
  usage: UsageColumns;
  sessionUsage: SessionUsageColumns;
  state: StateParts;
  events: EventRow[] | null;
  jobs: JobOfMessageAnswer[] | null;
  news: JobNews[] | null;
  limits: Record<string, number> | null;
  remembered: RememberedColumn;
  tree: TreeAnswer | null;
}

/** As JSON has it. */
export type AskedColumn = { [Field in keyof AskedTurn]?: AskedTurn[Field] | null };

type StepAnswer = OpenAnswer | FinishedAnswer | RecordedAnswer | BehindAnswer;

/** Of a child. */
interface TreeAnswer {
  /** The session of the agent of a call is new, or goes on. */
  began: boolean;
  /** Of the root's turn. */
  usage: UsageColumns;
  age: number;
  /** Of the root's session, where that is another one. */
  sessionUsage: SessionUsageColumns | null;
  root: { session: string; names: SessionNames } | null;
}

/** What openStep did, and whom to tell. */
interface StepOpening {
  opened: OpenedStep;
  appended: boolean;
  news?: readonly JobNews[];
  /** The root's session, where the agent of a call has begun below it. */
  above?: string;
}

export async function openStep(database: Database, step: OpenStep): Promise<StepOpening> {
  const { identity, fence, parent, plannedBy, child } = step;
  const { message, responses } = step;
  const answer = await callFunction<StepAnswer>(database, 'open_step', {
    ...(identity === undefined
      ? { session: step.session }
      : { ...newSession(identity), message_id: identity.messageId }),
    invocation: step.invocationId,
    run_key: step.runKey,
    step: step.step,
    fence_started_at: fence.startedAt,
    fence_invocation: fence.invocation,
    seq: step.seq,
    ...(step.step > 1 || message === undefined ? {} : eventArguments(message, 'user')),
    responses: step.step > 1 && responses ? eventArguments(responses, step.agent ?? '') : null,
    // PGlite takes longer for a random id than for the rest of its row.
    event_id: randomUUID(),
    known_session: step.session,
    known_seq: step.knownSeq ?? 0,
    message_digest: step.messageDigest,
    asked: askedJson(step.asked),
    may_give_way: step.mayGiveWay ?? false,
    requester: step.requester === undefined ? null : storableText(step.requester),
    in_tree: child !== undefined || parent !== undefined || plannedBy !== undefined,
    planner: plannedBy,
    ...(parent === undefined
      ? {}
      : {
          caller: parent.session,
          calling_run: parent.runKey,
          of_call: parent.callKey,
          path: JsonDocument.of(parent.path),
        }),
  });
  const opening = openingOf(answer);
  const { opened } = opening;
  if (!('tree' in answer) || answer.tree === null) return opening;
  const { began, root } = answer.tree;
  return {
    ...opening,
    opened: opened.kind === 'open' || opened.kind === 'recorded' ? inTree(opened, answer.tree) : opened,
    ...(began && root !== null ? { above: root.session } : {}),
  };
}

type Underway = Extract<OpenedStep, { kind: 'open' | 'recorded' }>;

function inTree(opened: Underway, { usage, age, sessionUsage, root }: TreeAnswer): Underway {
  const above = {
    age,
    ...(root === null ? {} : { root }),
    ...(sessionUsage === null ? {} : { sessionUsage: sessionUsageOf(sessionUsage) }),
  };
  return opened.kind === 'recorded'
    ? { ...opened, ...above }
    : { ...opened, ...above, ownAge: opened.age, treeUsage: usageOf(usage) };
}

function openingOf(answer: StepAnswer): StepOpening {
  if (answer.kind === 'behind') return { opened: behindOf(answer), appended: false };
  const inbox = (answer.inbox ?? []).map(waitingMessage);
  if (answer.kind === 'finished') {
    return { opened: { ...answer, agent: answer.agent ?? undefined, inbox }, appended: false };
  }
  const sessionUsage = sessionUsageOf(answer.sessionUsage);
  if (answer.kind === 'recorded') {
    const { session, seq, from, tree: _tree, ...rest } = answer;
    const outcome = placed(answer.outcome, { session, seq, from });
    return {
      opened: { ...rest, session, seq, from, agent: rest.agent ?? undefined, outcome, inbox, sessionUsage },
      appended: false,
    };
  }
  const {
    appended,
    lastAgent,
    once,
    asked,
    usage,
    state,
    events,
    jobs,
    news,
    limits,
    remembered,
    tree: _tree,
    ...rest
  } = answer;
  return {
    opened: {
      ...rest,
      inbox,
      once: once ?? {},
      asked: askedOf(asked),
      usage: usageOf(usage),
      sessionUsage,
      state: stateOf(state),
      remembered: rememberedOf(remembered),
      events: (events ?? []).map(storedEvent),
      lastAgent: lastAgent ?? undefined,
      ...(limits === null ? {} : { limits }),
      ...(jobs === null ? {} : { jobs: jobs.map(jobOfMessage) }),
    },
    appended,
    news: news ?? [],
  };
}

export function behindOf(answer: BehindAnswer): Extract<OpenedStep, { kind: 'behind' }> {
  return { ...answer, inbox: answer.inbox.map(waitingMessage) };
}

/** A run's column. */
export function askedOf(asked: AskedColumn | null): AskedTurn {
  return {
    ...(asked?.agent ? { agent: asked.agent } : {}),
    ...(asked?.rootAgent ? { rootAgent: asked.rootAgent } : {}),
    ...(asked?.runConfig ? { runConfig: asked.runConfig } : {}),
  };
}

function askedJson(asked: OpenStep['asked']): JsonDocument | null {
  const { agent, rootAgent, runConfig } = asked ?? {};
  if (agent === undefined && rootAgent === undefined && runConfig === undefined) return null;
  return JsonDocument.of({ agent, rootAgent, runConfig });
}

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

/** Whether the run has another step behind it. */
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

function placed(outcome: StepOutcome, place: { session: string; seq: number; from: number }): StepOutcome {
  const { session, seq, from } = place;
  return hasNext(outcome) ? { ...outcome, session, seq } : { ...outcome, session, seq, from };
}
