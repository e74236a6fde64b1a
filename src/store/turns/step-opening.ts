import type { Content } from '../../events/content.ts';
import type { StepOutcome } from '../../protocol/step.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { type JobNews, type JobOfMessageAnswer, jobOfMessage } from '../jobs/job-row.ts';
import { type InboxEntry, waitingMessage } from '../messages/postgres-messages.ts';
import {
  type EventRow,
  eventArguments,
  type StateParts,
  stateOf,
  storedEvent,
} from '../sessions/event-rows.ts';
import { newSession, type SessionNames } from '../sessions/session-names.ts';
import type { DraftEvent } from '../sessions/session-store.ts';
import { type RememberedColumn, rememberedOf } from './remembered.ts';
import { placed } from './step-committing.ts';
import type { AskedTurn, OpenedStep, OpenStep, PeekedStep, StepToPeek } from './step-store.ts';
import { type SessionUsageColumns, sessionUsageOf, type UsageColumns, usageOf } from './usage.ts';

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

/** The result of `openStep`, and the followers to tell. */
interface StepOpening {
  opened: OpenedStep;
  appended: boolean;
  news?: readonly JobNews[];
  /** The root's session, where the agent of a call has begun below it. */
  above?: string;
}

/** @param opens the id of the opening, and whether it waits for the disk. */
export async function openStep(
  database: Database,
  step: OpenStep,
  opens: { eventId: string; unawaited: boolean },
): Promise<StepOpening> {
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
    event_id: opens.eventId,
    unawaited: opens.unawaited,
    scheduled_at: step.scheduledAt,
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

interface PeekAnswer {
  names: SessionNames | null;
  behind: BehindAnswer | null;
  begun: boolean;
  seq: number;
  from: number;
  userContent: Content | null;
  /** As it will be appended; of one that is sent along only where that is otherwise. */
  message: Content | null;
  stateDelta: Record<string, unknown> | null;
  messageDigest: string | null;
  /** As they are stored: without `temp:` state. */
  responses: DraftEvent | null;
  delta: Record<string, unknown> | null;
  answers: { runKey: string; step: number } | null;
  asked: AskedColumn | null;
  state: StateParts;
  remembered: RememberedColumn;
}

export async function peekStep(database: Database, step: StepToPeek): Promise<PeekedStep> {
  const { identity } = step;
  const {
    names,
    behind,
    message,
    stateDelta,
    messageDigest,
    responses,
    delta,
    answers,
    asked,
    state,
    remembered,
    userContent,
    ...rest
  } = await callFunction<PeekAnswer>(database, 'peek_step', {
    ...(identity === undefined
      ? { session: step.session }
      : { ...newSession(identity), message_id: storableText(identity.messageId) }),
    invocation: step.invocationId,
    run_key: step.runKey,
    step: step.step,
    chain_started_at: step.fence?.startedAt,
    message_digest: step.messageDigest,
    may_give_way: step.mayGiveWay ?? false,
    sent: sentContent(step.message),
  });
  return {
    names: names ?? namesOf(identity as SessionNames),
    ...(behind === null ? {} : { behind: behindOf(behind) }),
    ...(message === null ? {} : { message }),
    ...(stateDelta === null ? {} : { stateDelta }),
    ...(messageDigest === null ? {} : { messageDigest }),
    ...(responses === null
      ? {}
      : { responses: { ...responses, actions: { ...responses.actions, stateDelta: delta ?? {} } } }),
    ...(responses === null || answers === null ? {} : { answers }),
    ...(asked === null ? {} : { asked: askedOf(asked) }),
    state: stateOf(state),
    remembered: rememberedOf(remembered),
    ...(userContent === null ? {} : { userContent }),
    ...rest,
  };
}

/** JSON of what is looked at, for most messages nothing; null for the message in the inbox. */
function sentContent(message: StepToPeek['message']): JsonDocument | null {
  if (message === undefined) return null;
  const text = jsonText(message.content);
  return new JsonDocument(text.includes('"functionResponse"') ? text : '{}');
}

/** Of a session that isn't there yet. */
function namesOf({ app, userId, sessionId }: SessionNames): SessionNames {
  return { app, userId, sessionId };
}
