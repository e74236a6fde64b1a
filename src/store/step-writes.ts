import { randomUUID } from 'node:crypto';
import type { StepOutcome } from '../protocol/step.ts';
import type { InvocationOutcome, TurnUsage } from '../protocol/turn.ts';
import type { Database } from './database.ts';
import { type InboxEntry, waitingMessage } from './inbox.ts';
import { type JobNews, type JobOfMessageAnswer, jobOfMessage } from './job-row.ts';
import { jsonArray, jsonText, storableText } from './json-text.ts';
import { type RememberedColumn, remembered, rememberedOf } from './remembered.ts';
import { newSessionId, sessionKeys } from './session-key.ts';
import { type StateParts, stateOf } from './state-parts.ts';
import type { AskedTurn, CommitStep, CommittedStep, OpenedStep, OpenStep, SessionNames } from './store.ts';
import { type EventRow, eventColumns, storedEvent } from './stored-event.ts';
import { type SessionUsageColumns, sessionUsageOf, type UsageColumns, usageOf } from './usage-columns.ts';

/** A first step has nothing behind it to be remembered. */
const BESIDE = `holdfast.resting_models_1() as limits, case when $11 > 1 then ${remembered('$1', '$10')} end as remembered`;
const OPEN = `${call('holdfast.open_step_3', 25)}, ${BESIDE}`;
const OPEN_CHILD = `${call('holdfast.open_child_step_1', 30)}, ${BESIDE}`;
const COMMIT = call('holdfast.commit_step_1', 31);
const COMMIT_WITH_MORE = call('holdfast.commit_step_3', 35);

/** A statement that calls an SQL function. */
export function call(name: string, parameters: number): string {
  const places = Array.from({ length: parameters }, (_, index) => `$${index + 1}`).join(', ');
  return `select ${name}(${places}) as answer`;
}

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
}

/** As JSON has it. */
export type AskedColumn = { [Field in keyof AskedTurn]?: AskedTurn[Field] | null };

type StepAnswer = OpenAnswer | FinishedAnswer | RecordedAnswer | BehindAnswer;

interface ChildAnswer {
  answer: StepAnswer;
  /** What the agent of a call has of its caller's `temp:` state. */
  temp: Record<string, unknown> | null;
  /** The session of the agent of a call is new, or goes on. */
  began: boolean;
  /** Of the root's turn. */
  usage: UsageColumns;
  age: number;
  /** Of the root's session, where that is another one. */
  sessionUsage: SessionUsageColumns | null;
  root: { session: string; names: SessionNames } | null;
}

interface OpenRow {
  answer: StepAnswer | ChildAnswer;
  limits: Record<string, number> | null;
  remembered: RememberedColumn;
}

type Beside = Pick<OpenRow, 'limits' | 'remembered'>;

/** What openStep did, and whom to tell. */
interface StepOpening {
  opened: OpenedStep;
  appended: boolean;
  news?: readonly JobNews[];
  /** The root's session, where the agent of a call has begun below it. */
  above?: string;
}

export async function openStep(database: Database, step: OpenStep): Promise<StepOpening> {
  const values = openingValues(step);
  if (!isChild(step)) {
    const [row] = await database.query<OpenRow>(OPEN, values);
    const { answer, ...beside } = row as OpenRow & { answer: StepAnswer };
    return openingOf(answer, beside);
  }
  const { parent, plannedBy } = step;
  const [row] = await database.query<OpenRow>(OPEN_CHILD, [
    ...values,
    parent?.session,
    parent?.runKey,
    parent?.callKey,
    parent === undefined ? null : jsonText(parent.path),
    plannedBy,
  ]);
  const { answer, ...beside } = row as OpenRow & { answer: ChildAnswer };
  return childOpeningOf(answer, beside);
}

function isChild({ child, parent, plannedBy }: OpenStep): boolean {
  return child !== undefined || parent !== undefined || plannedBy !== undefined;
}

function childOpeningOf(
  { answer, temp, began, usage, age, root, sessionUsage }: ChildAnswer,
  beside: Beside,
): StepOpening {
  const opening = openingOf(answer, beside);
  const { opened } = opening;
  if (opened.kind !== 'open' && opened.kind !== 'recorded') return opening;
  const above = {
    ...(root === null ? {} : { root }),
    ...(sessionUsage === null ? {} : { sessionUsage: sessionUsageOf(sessionUsage) }),
  };
  const inTree =
    opened.kind === 'recorded'
      ? { ...opened, age, ...above }
      : {
          ...opened,
          age,
          ownAge: opened.age,
          ...above,
          treeUsage: usageOf(usage),
          state: { ...opened.state, ...temp },
        };
  return { ...opening, opened: inTree, ...(began && root !== null ? { above: root.session } : {}) };
}

function openingValues(step: OpenStep): unknown[] {
  const { identity, fence } = step;
  const keys = identity && sessionKeys(identity);
  const given = step.step === 1 ? step.message : step.responses;
  const input = given && eventColumns(given, step.step === 1 ? 'user' : (step.agent ?? ''));
  return [
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
    input?.author,
    input?.branch,
    input?.body,
    input?.delta,
    // PGlite takes longer for a random id than for the rest of its row.
    randomUUID(),
    step.session,
    step.knownSeq ?? 0,
    step.messageDigest,
    askedJson(step.asked),
    step.mayGiveWay ?? false,
    step.requester === undefined ? null : storableText(step.requester),
  ];
}

function openingOf(answer: StepAnswer, { limits, remembered: kept }: Beside): StepOpening {
  if (answer.kind === 'behind') return { opened: behindOf(answer), appended: false };
  const inbox = (answer.inbox ?? []).map(waitingMessage);
  if (answer.kind === 'finished') {
    return { opened: { ...answer, agent: answer.agent ?? undefined, inbox }, appended: false };
  }
  const sessionUsage = sessionUsageOf(answer.sessionUsage);
  if (answer.kind === 'recorded') {
    const { session, seq, from } = answer;
    const outcome = placed(answer.outcome, { session, seq, from });
    return {
      opened: { ...answer, agent: answer.agent ?? undefined, outcome, inbox, sessionUsage },
      appended: false,
    };
  }
  const { appended, lastAgent, once, asked, usage, state, events, jobs, news, ...rest } = answer;
  return {
    opened: {
      ...rest,
      inbox,
      once: once ?? {},
      asked: askedOf(asked),
      usage: usageOf(usage),
      sessionUsage,
      state: stateOf(state),
      remembered: rememberedOf(kept),
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

function askedJson(asked: OpenStep['asked']): string | null {
  const { agent, rootAgent, runConfig } = asked ?? {};
  if (agent === undefined && rootAgent === undefined && runConfig === undefined) return null;
  return jsonText({ agent, rootAgent, runConfig });
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
  const { fence, calls, rows } = step;
  const more = moreOf(step);
  const events = step.events.map(({ kind, event }) => ({ kind, ...eventColumns(event, step.agent) }));
  const [row] = await database.query<{ answer: CommitAnswer }>(
    more === undefined ? COMMIT : COMMIT_WITH_MORE,
    [
      step.session,
      step.invocationId,
      step.runKey,
      step.step,
      fence.startedAt,
      fence.invocation,
      step.agent,
      events.map(() => randomUUID()),
      events.map(({ kind }) => kind),
      events.map(({ author }) => author),
      events.map(({ branch }) => branch),
      // One body stands for itself: PostgreSQL would parse an array to take it out.
      events.length === 1 ? events[0]?.body : jsonArray(events.map(({ body }) => body)),
      events.some(({ delta }) => delta !== null) ? jsonArray(events.map(({ delta }) => delta)) : null,
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
      rows.length === 0 ? null : jsonArray(rows.map(({ args }) => jsonText(args))),
      rows.length === 0 ? null : jsonArray(rows.map(({ response }) => jsonText(response))),
      JSON.stringify(step.usage),
      step.usage.modelCalls,
      step.usage.promptTokens,
      step.usage.outputTokens,
      step.usage.totalTokens,
      step.usage.cost,
      outcomeHead(step.outcome),
      step.ending?.status,
      hasNext(step.outcome) ? null : endingHead(step.ending ?? step.outcome.outcome),
      ...(more ?? []),
    ],
  );
  const { kind, seq, from, usage, outcome } = (row as { answer: CommitAnswer }).answer;
  const recorded = outcome ?? withUsage(step, usage as TurnUsage);
  return { kind, seq, from, outcome: placed(recorded, { session: step.session, seq, from }) };
}

/** What few steps have; undefined where there is none of it. */
function moreOf({
  toolEdits,
  ends = false,
  rows,
  requests = [],
}: CommitStep): (string | boolean | null)[] | undefined {
  const prepared = rows.some(({ actions }) => actions !== undefined);
  if (toolEdits === undefined && !ends && !prepared && requests.length === 0) return undefined;
  return [
    prepared ? jsonArray(rows.map(({ actions }) => jsonText(actions))) : null,
    requests.length === 0 ? null : jsonText(requests),
    toolEdits === undefined ? null : jsonText(toolEdits),
    ends,
  ];
}

type NextOutcome = Extract<StepOutcome, { kind: 'calls' | 'agents' }>;

/** Whether the run has another step behind it. */
function hasNext(outcome: StepOutcome): outcome is NextOutcome {
  return outcome.kind === 'calls' || outcome.kind === 'agents';
}

/** Without what is known only when it is recorded, and without its closing brace: the statement puts both behind it. */
function outcomeHead(given: StepOutcome): string {
  if (hasNext(given)) {
    const { usage: _usage, ...rest } = given;
    return jsonText(rest).slice(0, -1);
  }
  const { outcome: _outcome, ...rest } = given;
  return jsonText(rest).slice(0, -1);
}

/** Without what the invocation used, and without its closing brace. */
export function endingHead(ending: InvocationOutcome): string {
  const { usage: _usage, ...rest } = ending;
  return jsonText(rest).slice(0, -1);
}

function withUsage({ outcome, ending }: CommitStep, usage: TurnUsage): StepOutcome {
  if (hasNext(outcome)) return { ...outcome, usage };
  return { ...outcome, outcome: { ...(ending ?? outcome.outcome), usage } };
}

function placed(outcome: StepOutcome, place: { session: string; seq: number; from: number }): StepOutcome {
  const { session, seq, from } = place;
  return hasNext(outcome) ? { ...outcome, session, seq } : { ...outcome, session, seq, from };
}
