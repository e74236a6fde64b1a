import { randomUUID } from 'node:crypto';
import type { InvocationStatus } from '../../protocol/agent-run.ts';
import { stepKeyOf } from '../../protocol/identity.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import type { LiveNotices } from '../live/live-notices.ts';
import { type SessionNames, sessionKeys } from '../sessions/session-names.ts';
import { postgresCalls, recordFailure } from './postgres-calls.ts';
import { postgresChildren } from './postgres-children.ts';
import { commitStep, settleStep } from './step-committing.ts';
import { openStep, peekStep } from './step-opening.ts';
import type { OpenStep, StepStore } from './step-store.ts';
import type { TurnStore, WaitingTurns } from './turn-store.ts';
import { UnawaitedBeginnings } from './unawaited-beginnings.ts';

/** An invocation that was retried is answered with its newest generation. */
const INVOCATION = `select r.session_id, r.run_key, r.message_id, r.message_digest, r.status, r.outcome, r.first_seq, r.last_seq,
  r.requester, s.last_seq as session_seq
from holdfast.sessions s
join holdfast.runs r on r.session_id = s.id
where s.name_key = $1 and r.run_key = coalesce((
  select n.run_key from holdfast.runs n
  where n.session_id = s.id and n.origin = (
    select coalesce(o.origin, o.run_key) from holdfast.runs o where o.session_id = s.id and o.run_key = $2)
  order by n.generation desc limit 1), $2)`;

/** A detached job's turn doesn't wait for it. */
const WAITING = `select s.app, w.kind, count(distinct w.invocation_id)::int as turns,
  (extract(epoch from clock_timestamp()) * 1000 - min(w.since))::float8 as "longestMs"
from (
  select session_id, kind, invocation_id, since from holdfast.approvals where status = 'pending'
  union all
  select session_id, 'job', invocation_id, since from holdfast.jobs where status = 'running' and mode = 'parked'
) w join holdfast.sessions s on s.id = w.session_id
group by s.app, w.kind order by s.app, w.kind`;

interface InvocationRow {
  session_id: string;
  run_key: string;
  message_id: string | null;
  message_digest: string | null;
  status: InvocationStatus;
  outcome: InvocationOutcome | null;
  first_seq: string;
  last_seq: string;
  requester: string | null;
  session_seq: string;
}

const LONGEST_BACK_OFF = 60_000;

const LATEST_STEP = 'select r.step from holdfast.runs r where r.session_id = $1 and r.run_key = $2';

export function postgresTurns(database: Database, live: LiveNotices): TurnStore {
  const unawaited = new UnawaitedBeginnings();
  return {
    async newestFence(names) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.sessions')
          .select(['fence_started_at', 'fence_invocation'])
          .where('name_key', '=', sessionKeys(names).name)
          .compile(),
      );
      return row && { startedAt: Number(row.fence_started_at), invocation: row.fence_invocation };
    },
    async latestStep({ session, runKey }) {
      const [row] = await database.query<{ step: number }>(LATEST_STEP, [session, runKey]);
      return row?.step ?? 0;
    },
    async findInvocation(names, invocationId) {
      const [row] = await database.query<InvocationRow>(INVOCATION, [
        sessionKeys(names).name,
        storableText(invocationId),
      ]);
      if (row === undefined) return undefined;
      return {
        session: row.session_id,
        invocationId: row.run_key,
        messageId: row.message_id ?? '',
        ...(row.message_digest === null ? {} : { messageDigest: row.message_digest }),
        status: row.status,
        from: Number(row.first_seq),
        to: Number(row.status === 'running' ? row.session_seq : row.last_seq),
        ...(row.outcome === null ? {} : { outcome: row.outcome }),
        ...(row.requester === null ? {} : { requester: row.requester }),
      };
    },
    async waiting() {
      return await database.query<WaitingTurns>(WAITING, []);
    },
    async limitModel({ key, retryAfterMs }) {
      const named = retryAfterMs === undefined ? null : Math.ceil(retryAfterMs);
      const [row] = await database.query<{ rest: string }>(
        'select holdfast.limit_model($1, $2, $3) as rest',
        [storableText(key), named, LONGEST_BACK_OFF],
      );
      return Number(row?.rest);
    },
    async modelAnswered(key) {
      await database.query(
        'update holdfast.model_limits set refusals = 0 where key = $1 and refusals > 0 and until <= clock_timestamp()',
        [storableText(key)],
      );
    },
    async freeSlot({ invocationId, ...names }) {
      await database.query('delete from holdfast.turn_slots where name_key = $1 and invocation_id = $2', [
        sessionKeys(names).name,
        invocationId,
      ]);
    },
    async takeSlot({ invocationId, quota, ...names }) {
      const keys = sessionKeys(names);
      const [row] = await database.query<{ full: { app: number; user: number } | null }>(
        'select holdfast.take_turn_slot($1, $2, $3, $4, $5, $6) as full',
        [keys.name, keys.app, keys.user, invocationId, quota.perApp, quota.perUser],
      );
      const full = row?.full ?? undefined;
      return full === undefined ? { kind: 'taken' } : { kind: 'full', ofApp: full.app, ofUser: full.user };
    },
    ...postgresSteps(database, live, unawaited),
    ...postgresCalls(database, live, unawaited),
    ...postgresChildren(database),
  };
}

/** Model steps in PostgreSQL: each operation is one statement, and followers hear what it has written. */
function postgresSteps(database: Database, live: LiveNotices, unawaited: UnawaitedBeginnings): StepStore {
  return {
    async openStep(step) {
      // PGlite takes longer for a random id than for the rest of its row.
      const eventId = randomUUID();
      // A first step does more than what follows from the store's own records: docs/decisions/050.
      const opens = { eventId, unawaited: step.step > 1 && !database.isEmbedded };
      const { opened, appended, news = [], above } = await openStep(database, step, opens);
      const { session, seq } = opened;
      if (opens.unawaited) {
        unawaited.add(session, stepKeyOf(step.runKey, step.step), () =>
          openStep(database, step, { eventId, unawaited: false }),
        );
      }
      if (appended) live.tell({ type: 'appended', session, seq, ...namesOf(step) });
      live.tellJobs(session, news);
      if (above !== undefined && step.parent !== undefined) {
        const { callKey, path } = step.parent;
        live.tell({ type: 'child', session: above, child: session, runKey: step.runKey, callKey, path });
      }
      return opened;
    },
    peekStep: (step) => peekStep(database, step),
    async commitStep(step) {
      const { session, runKey } = step;
      const committed = await unawaited.recorded(session, stepKeyOf(runKey, step.step), () =>
        commitStep(database, step),
      );
      if (committed.kind === 'committed' && step.events.length > 0) {
        live.tell({ type: 'appended', session: step.session, seq: committed.seq });
      }
      return committed;
    },
    recordStepFailure({ runKey, step, ...failed }) {
      const key = stepKeyOf(runKey, step);
      return unawaited.recorded(failed.session, key, () => recordFailure(database, { ...failed, key }));
    },
    async settleStep(step) {
      const { settled, appended, calls, news } = await settleStep(database, step);
      const { session, runKey } = step;
      for (const [callKey, tool, failed] of calls) {
        live.tell({ type: 'call finished', session, runKey, callKey, tool, failed });
      }
      live.tellJobs(session, news);
      if (appended) live.tell({ type: 'appended', session, seq: settled.seq });
      return settled;
    },
  };
}

/** A turn's first event says whose it is: followers who wait for the session don't know its id. */
function namesOf({ identity }: OpenStep): { names?: SessionNames } {
  if (identity === undefined) return {};
  const { app, userId, sessionId } = identity;
  return { names: { app, userId, sessionId } };
}
