import { EVENT_ROW } from './event-row.ts';

/** Notes on calls, and reads. */
export const calls = `
-- What the settled calls of a step do to the state, before the step merges them.
create function holdfast.settled_delta_1(session text, step_key text) returns json language plpgsql stable as $$
begin
  return (
    select holdfast.merged_actions_1(array_agg(l.actions order by c.n)) -> 'stateDelta'
    from holdfast.ledger p
    cross join unnest(p.call_keys) with ordinality c (key, n)
    cross join lateral (
      select t.actions from holdfast.ledger t
      where t.session_id = session and t.key = c.key and t.status = 'settled' and t.actions ? 'stateDelta' offset 0
    ) l
    where p.session_id = session and p.key = step_key
  );
end $$;

-- An attempt fails once, however often that is told. Without a number it is the newest one.
create function holdfast.record_failure_1(session text, of_key text, error text, counts boolean, attempt int) returns int
language plpgsql as $$
#variable_conflict use_variable
declare
  failed record;
begin
  select l.attempts, l.failures, l.ended_attempts into failed
    from holdfast.ledger l where l.session_id = session and l.key = of_key for update;
  attempt := least(attempt, failed.attempts);
  if failed.attempts is null or attempt < 1 or failed.ended_attempts @> attempt then
    return failed.failures;
  end if;
  update holdfast.ledger l set ended = l.ended + 1, failures = l.failures + counts::int, last_error = error,
    ended_attempts = coalesce(l.ended_attempts, '{}') + int4multirange(int4range(attempt, attempt, '[]'))
  where l.session_id = session and l.key = of_key;
  return failed.failures + counts::int;
end $$;

create function holdfast.record_once_1(session text, of_key text, name text, value jsonb) returns json
language plpgsql as $$
declare
  kept json;
begin
  update holdfast.ledger l set once = jsonb_build_object(name, value) || coalesce(l.once, '{}')
  where l.session_id = session and l.key = of_key
  returning (l.once -> name)::json into kept;
  return kept;
end $$;

-- Gapless, so that what is missing at the start is a parent's; a session without one costs nothing more.
create function holdfast.events_of_1(session text, after bigint, at_most bigint) returns json
language plpgsql stable as $$
declare
  own json;
  first bigint;
  part record;
  found json[] := '{}';
begin
  select json_agg(${EVENT_ROW}), min(e.seq) into own, first
  from (
    select * from holdfast.events where session_id = session and seq > after order by seq limit at_most
  ) e;
  if first = after + 1
      or not exists (select from holdfast.sessions s where s.id = session and s.parent_seq > after) then
    return own;
  end if;
  for part in select l.of_session, l.up_to from holdfast.lineage_1(session, null)
      with ordinality l (of_session, up_to, n) order by l.n desc loop
    found := found || array(select ${EVENT_ROW} from (
      select * from holdfast.events t
      where t.session_id = part.of_session and t.seq > after and t.seq <= part.up_to
      order by t.seq limit at_most - cardinality(found)
    ) e);
  end loop;
  return array_to_json(found);
end $$;
`;
