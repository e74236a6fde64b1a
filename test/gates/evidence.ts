import { setTimeout } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { sql } from 'kysely';
import type { AuditRow, AuditVerification } from '../../src/contract/audit.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { getFunctionCalls, getFunctionResponses } from '../../src/events/event.ts';
import { callKeyOf, workflowIdOf } from '../../src/protocol/identity.ts';
import type { RecordedInvocation } from '../../src/store/turns/turn-store.ts';
import type { Dooms } from '../setup/doom.ts';
import type { GatedEffect } from '../setup/gated-effects.ts';
import type { GatedStage } from '../setup/gated-stage.ts';
import type { PlayedScenario } from './actor.ts';

const STATUSES = ['pending', 'approved', 'rejected', 'answered', 'expired', 'cancelled'] as const;

/** Milliseconds. */
const LONGEST_END = 60_000;

/** A call of the transcript, and what it came to. */
export interface CallEvidence {
  callKey: string;
  tool: string;
  args: Record<string, unknown>;
  /** Absent where the transcript has none, or several. */
  response?: Record<string, unknown>;
  responses: number;
  effects: GatedEffect[];
  /** In order. */
  requests: ApprovalRow[];
}

/** What is left of a session. */
export interface GatedEvidence {
  played: PlayedScenario;
  calls: CallEvidence[];
  events: StoredEvent[];
  requests: ApprovalRow[];
  invocations: RecordedInvocation[];
  audit: AuditRow[];
  audited: AuditVerification;
  /** Of the ledger: calls without an outcome. */
  unsettled: string[];
  openRuns: number;
  /** Moments at which a worker has died. */
  died: Dooms;
}

export async function gatherGates(stage: GatedStage, played: PlayedScenario): Promise<GatedEvidence> {
  const { store, temporal } = stage;
  const { names, dooms } = played.scenario;
  const events = await store.sessions.readEvents(names);
  const requests = await store.approvals.list({ ...names, status: STATUSES, limit: 1_000 });
  const found = await Promise.all(
    played.turns.map(({ invocationId }) => store.turns.findInvocation(names, invocationId)),
  );
  const invocations = found.filter((one) => one !== undefined);
  const { session = '' } = invocations[0] ?? {};
  const { rows } = await sql<{ key: string }>`
    select key from holdfast.ledger
    where session_id = ${session} and kind = 'call' and status <> 'settled'`.execute(store.db);
  const run = temporal.workflow.getHandle(workflowIdOf(names.app, names.userId, names.sessionId));
  return {
    played,
    events,
    requests,
    invocations,
    calls: callsOf(events, requests, stage.effects.read()),
    audit: await store.sessions.readAudit(session),
    audited: await store.approvals.verifyAudit(session),
    unsettled: rows.map(({ key }) => key),
    openRuns: await openRuns(run),
    died: Object.fromEntries(Object.entries(dooms).filter(([callKey]) => stage.doom.hasCome(callKey))),
  };
}

/** A run closes some time behind the end of its turn: first it tells people what has become of their requests. */
async function openRuns(run: WorkflowHandle): Promise<number> {
  const deadline = Date.now() + LONGEST_END;
  while ((await run.describe()).status.name === 'RUNNING') {
    if (Date.now() > deadline) return 1;
    await setTimeout(100);
  }
  return 0;
}

function callsOf(
  events: readonly StoredEvent[],
  requests: readonly ApprovalRow[],
  effects: readonly GatedEffect[],
): CallEvidence[] {
  return events.flatMap((stored) => {
    if (stored.kind !== 'model') return [];
    const { runKey, step, event } = stored;
    const answers = events.filter(
      (other) => other.kind === 'responses' && other.runKey === runKey && other.step === step,
    );
    return getFunctionCalls(event).map(({ name = '', args = {} }, index) => {
      const callKey = callKeyOf(runKey, step, index);
      const responses = answers.map((answer) => getFunctionResponses(answer.event)[index]?.response);
      const [response] = responses;
      return {
        callKey,
        tool: name,
        args,
        ...(response === undefined ? {} : { response }),
        responses: responses.length,
        effects: effects.filter((effect) => effect.callKey === callKey),
        requests: requests
          .filter((request) => request.callKey === callKey)
          .toSorted((one, other) => (one.requestId < other.requestId ? -1 : 1)),
      };
    });
  });
}
