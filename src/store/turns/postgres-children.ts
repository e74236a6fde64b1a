import type { Content } from '../../events/content.ts';
import { textOf } from '../../events/content.ts';
import { placeOfCall, stepKeyOf } from '../../protocol/identity.ts';
import type { PlannedCall } from '../../protocol/step.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { type EventRow, storedEvent } from '../sessions/event-rows.ts';
import { sessionKeys } from '../sessions/session-names.ts';
import { StoreBehindHistory } from '../store-errors.ts';
import type { CallOfAgentFound, ChildSession, ChildStore } from './child-store.ts';
import { ARGUMENTS_OF_CALL, findPlannedCall } from './postgres-calls.ts';
import { type UsageColumns, usageOf } from './usage.ts';

/** A reader of some children does not read a large root whole. */
const FEW = 200;

/** Look-ups by key: a join may read the whole tables. */
const FIND = `with root as (
  select r.id from holdfast.sessions r where r.name_key = $1
), few as (
  select c.id from root r join holdfast.sessions c on c.root_session = r.id limit $2 + 1
), many as (
  select count(*) > $2 as are from few
), found as (
  select f.id from few f, many m where not m.are
  union
  select c.id from many m
  cross join unnest($3::text[], $4::text[]) a(session, step)
  cross join lateral (
    select t.id, t.root_session from holdfast.sessions t
    where t.caller_session = a.session and t.call_key >= a.step || '.' and t.call_key < a.step || '/' offset 0
  ) c
  join root r on r.id = c.root_session
  where m.are
  union
  select c.id from many m
  cross join (select t.id, t.root_session from holdfast.sessions t where t.name_key = any($5::text[]) offset 0) c
  join root r on r.id = c.root_session
  where m.are
)
select m.are as many, c.id, c.name, c.last_seq, c.agent_path, c.call_key, c.caller_session, n.status
from many m
left join (found f
  join holdfast.sessions c on c.id = f.id
  join holdfast.runs n on n.session_id = c.id and n.run_key = c.name
) on true
order by c.created_at, c.id`;

/** Bodies are read of few: those of a long turn are large. */
const LATEST_STEPS = `with latest as (
  select e.run_key, max(e.step) as step
  from holdfast.sessions s join holdfast.events e on e.session_id = s.id
  where s.name_key = $1 and e.seq between $2 and $3
  group by e.run_key
)
select holdfast.event_row(e) as event
from holdfast.sessions s
join holdfast.events e on e.session_id = s.id
join latest l on l.run_key = e.run_key and l.step = e.step
where s.name_key = $1 and e.seq between $2 and $3
order by e.seq`;

const END = 'select holdfast.end_child($1, $2) as answer';

interface EndAnswer {
  session: string;
  outcome: InvocationOutcome;
  stateDelta: Record<string, unknown>;
  artifactDelta: Record<string, number> | null;
  content: Content | null;
}

const USAGE = `select json_build_array(coalesce(t.model_calls, 0), coalesce(t.prompt_tokens, 0), coalesce(t.output_tokens, 0),
    coalesce(t.total_tokens, 0), t.cost, coalesce(t.unknown_calls, 0)) as usage
  from unnest($1::text[], $2::text[]) with ordinality as n (session, run, nth)
  left join holdfast.runs t on t.session_id = n.session and t.run_key = n.run
  order by n.nth`;

interface ChildRow {
  id: string;
  name: string;
  last_seq: string;
  status: ChildSession['status'];
  agent_path: string[] | null;
  call_key: string | null;
  caller_session: string | null;
}

/** In one statement, as an agent begins with it. */
const CALL_OF_AGENT = `select s.app, s.user_id as "userId", l.status, ${ARGUMENTS_OF_CALL} as args, exists (
    select from holdfast.ledger p where p.session_id = $1 and p.key = $3 and p.kind = 'step') as "hasStep", (
    select c.value from holdfast.ledger p cross join lateral json_array_elements(p.outcome -> 'calls') c
    where p.session_id = $1 and p.key = $3 and p.kind = 'step' and c.value ->> 'callKey' = $2) as planned, (
    select json_agg(json_build_object('requestId', a.request_id, 'kind', a.kind, 'status', a.status,
      'hasBegun', a.begun_after is not null))
    from (select * from holdfast.approvals t where t.call_key = $2 offset 0) a where a.session_id = $1) as requests
from holdfast.sessions s left join holdfast.ledger l on l.session_id = s.id and l.key = $2 and l.kind = 'call'
where s.id = $1`;

interface CallOfAgentRow {
  app: string;
  userId: string;
  status: string | null;
  args: Record<string, unknown> | null;
  hasStep: boolean;
  planned: PlannedCall | null;
  requests: CallOfAgentFound['requests'] | null;
}

export function postgresChildren(database: Database): ChildStore {
  return {
    async endChild(parent, runKey) {
      const [row] = await database.query<{ answer: EndAnswer | null }>(END, [parent, storableText(runKey)]);
      if (!row?.answer) return undefined;
      const { content, artifactDelta, ...ended } = row.answer;
      return {
        ...ended,
        artifactDelta: artifactDelta ?? {},
        text: content === null ? undefined : textOf(content, '\n'),
      };
    },
    async readLatestSteps({ from, to, ...names }) {
      const rows = await database.query<{ event: EventRow }>(LATEST_STEPS, [
        sessionKeys(names).name,
        from,
        to,
      ]);
      return rows.map(({ event }) => storedEvent(event));
    },
    async usageOfRuns(runs) {
      const rows = await database.query<{ usage: UsageColumns }>(USAGE, [
        runs.map(({ session }) => session),
        runs.map(({ run }) => storableText(run)),
      ]);
      return rows.map(({ usage }) => usageOf(usage));
    },
    async listChildren(names) {
      const rows = await database.read(
        database.db
          .selectFrom('holdfast.sessions as r')
          .innerJoin('holdfast.sessions as c', 'c.root_session', 'r.id')
          .innerJoin('holdfast.runs as n', (on) =>
            on.onRef('n.session_id', '=', 'c.id').onRef('n.run_key', '=', 'c.name'),
          )
          .select([
            'c.id',
            'c.name',
            'c.last_seq',
            'c.agent_path',
            'c.call_key',
            'c.caller_session',
            'n.status',
          ])
          .where('r.name_key', '=', sessionKeys(names).name)
          .orderBy('c.created_at')
          .orderBy('c.id')
          .compile(),
      );
      return rows.map(childSession);
    },
    async findChildren(names, { steps, runKeys }) {
      const rows = await database.query<{ many: boolean } & (ChildRow | { id: null })>(FIND, [
        sessionKeys(names).name,
        FEW,
        steps.map(({ session }) => session),
        steps.map(({ step }) => storableText(step)),
        runKeys.map((sessionId) => sessionKeys({ ...names, sessionId }).name),
      ]);
      return {
        children: rows.flatMap((row) => (row.id === null ? [] : childSession(row))),
        areAll: rows[0]?.many !== true,
      };
    },
    async findCallOfAgent({ session, callKey }) {
      const { runKey, step } = placeOfCall(callKey);
      const keys = [session, callKey, stepKeyOf(runKey, step)].map(storableText);
      const [row] = await database.query<CallOfAgentRow>(CALL_OF_AGENT, keys);
      if (row?.hasStep !== true) {
        throw new StoreBehindHistory(`run ${runKey}, whose call runs an agent, is not in the store`);
      }
      const { app, userId, status, args, planned, requests } = row;
      return {
        ...{ app, userId, isUnderWay: status === 'started', requests: requests ?? [] },
        ...(planned === null ? {} : { planned }),
        ...(args === null ? {} : { args }),
      };
    },
    /** The call whose agent's session this is; undefined for that of a turn. */
    async findPlanningCall(session) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.sessions')
          .select(['caller_session', 'call_key'])
          .where('id', '=', storableText(session))
          .compile(),
      );
      if (!row?.caller_session || !row.call_key) return undefined;
      return await findPlannedCall(database, { session: row.caller_session, callKey: row.call_key });
    },
  };
}

function childSession(row: ChildRow): ChildSession {
  return {
    session: row.id,
    runKey: row.name,
    seq: Number(row.last_seq),
    status: row.status,
    path: row.agent_path ?? [],
    callKey: row.call_key ?? '',
    parent: row.caller_session ?? '',
  };
}
