import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { sql } from 'kysely';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { TurnUsage } from '../../src/contract/sessions.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import { KEEP_MESSAGES } from '../../src/protocol/names.ts';
import type { KeepMessagesResult } from '../../src/protocol/step.ts';
import type { InboxRow } from '../../src/store/messages/message-store.ts';
import type { OpenedStore } from '../../src/store/open-store.ts';
import type { RecordedInvocation } from '../../src/store/turns/turn-store.ts';
import type { SoakEffect } from '../setup/soak-effects.ts';
import type { Outages } from '../setup/soak-outages.ts';
import { namesOf, type PlayedScenario, workflowIdOfScenario } from './driver.ts';
import type { SoakModel } from './model.ts';
import { messagesOf, type Scenario } from './plan.ts';

/** What the ledger says of a call. */
export interface CallRow {
  key: string;
  status: string;
  attempts: number;
  failures: number;
  /** Milliseconds since the epoch; null where the call never settled. */
  settledAt: number | null;
  once: Record<string, { value?: unknown }> | null;
}

/** Everything that is known of a session when all is over. */
export interface SessionEvidence {
  played: PlayedScenario;
  events: StoredEvent[];
  /** By message id. */
  invocations: Map<string, RecordedInvocation>;
  calls: Map<string, CallRow>;
  inbox: InboxRow[];
  state: Record<string, unknown>;
  usage: TurnUsage;
  /**
   * Ids of the messages whose runs had them in the store when the first of these was stopped; absent where none was. Those
   * that it had not looked at yet are sent again by their clients, in whatever order these come.
   */
  keptBeforeStop?: string[];
  /** What the histories say that no worker's death explains. */
  workflowProblems: string[];
}

export interface SoakEvidence {
  sessions: SessionEvidence[];
  effects: readonly SoakEffect[];
  /** Idempotency keys that were charged. */
  charges: readonly string[];
  model: Pick<SoakModel, 'answered' | 'refused'>;
  outages: Outages;
}

const PAGE = 500;

export function invocationOf(scenario: Scenario, messageId: string): string {
  const { app, userId, sessionId } = namesOf(scenario);
  return invocationIdOf(app, userId, sessionId, messageId);
}

export async function gatherSession(
  played: PlayedScenario,
  store: OpenedStore,
  temporalClient: Client,
): Promise<SessionEvidence> {
  const names = namesOf(played.scenario);
  const invocations = new Map<string, RecordedInvocation>();
  for (const { turn } of messagesOf(played.scenario)) {
    const recorded = await store.turns.findInvocation(names, invocationOf(played.scenario, turn.messageId));
    if (recorded !== undefined) invocations.set(turn.messageId, recorded);
  }
  const session = await store.sessions.get({ ...names, numRecentEvents: 0 });
  const kept = await keptBeforeStop(temporalClient, workflowIdOfScenario(played.scenario));
  return {
    ...(kept === undefined ? {} : { keptBeforeStop: kept }),
    played,
    invocations,
    events: await eventsOf(store, names),
    calls: session === undefined ? new Map() : await callsOf(store, session.session),
    inbox: await store.messages.readInbox(names),
    state: session?.state ?? {},
    usage: session?.usage ?? { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
    workflowProblems: await workflowProblems(temporalClient, workflowIdOfScenario(played.scenario)),
  };
}

async function eventsOf(store: OpenedStore, names: ReturnType<typeof namesOf>): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const page = await store.sessions.readEvents({ ...names, after: events.at(-1)?.seq ?? 0, limit: PAGE });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

async function callsOf(store: OpenedStore, session: string): Promise<Map<string, CallRow>> {
  const { rows } = await sql<CallRow>`
    select key, status, attempts, failures, once,
      (extract(epoch from settled_at) * 1000)::float8 as "settledAt"
    from holdfast.ledger where session_id = ${session} and kind = 'call'`.execute(store.db);
  return new Map(rows.map((row) => [row.key, row]));
}

async function keptBeforeStop(client: Client, workflowId: string): Promise<string[] | undefined> {
  const runs: { runId: string; startTime: Date }[] = [];
  for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) runs.push(run);
  const kept: string[] = [];
  for (const { runId } of runs.sort((a, b) => Number(a.startTime) - Number(b.startTime))) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    kept.push(...keptIn(events ?? []));
    const last = events?.at(-1);
    if (last?.workflowExecutionTerminatedEventAttributes || last?.workflowExecutionCanceledEventAttributes)
      return kept;
  }
  return undefined;
}

function keptIn(events: readonly proto.temporal.api.history.v1.IHistoryEvent[]): string[] {
  const keeping = events
    .filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === KEEP_MESSAGES)
    .map(({ eventId }) => String(eventId));
  return events.flatMap(({ activityTaskCompletedEventAttributes: completed }) => {
    if (!keeping.includes(String(completed?.scheduledEventId))) return [];
    const { messages }: KeepMessagesResult = JSON.parse(
      Buffer.from(completed?.result?.payloads?.[0]?.data ?? []).toString(),
    );
    return messages.filter(({ kind }) => kind === 'kept').map(({ messageId }) => messageId);
  });
}

/** Causes that say that our code, not a worker's death or a race of Temporal's, has failed a workflow task. */
const OUR_FAULT = /NON_DETERMINISTIC|UNHANDLED_FAILURE|BAD_|DUPLICATE|LIMIT|TOO_LARGE/;

async function workflowProblems(client: Client, workflowId: string): Promise<string[]> {
  const problems: string[] = [];
  for await (const { runId, status } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    if (status.name === 'RUNNING') problems.push(`run ${runId} is still open`);
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const { eventId, workflowTaskFailedEventAttributes: failed } of events ?? []) {
      const cause = proto.temporal.api.enums.v1.WorkflowTaskFailedCause[failed?.cause ?? 0] ?? '';
      if (OUR_FAULT.test(cause)) {
        problems.push(`run ${runId}, event ${eventId}: ${cause}: ${failed?.failure?.message ?? ''}`);
      }
    }
  }
  return problems;
}
