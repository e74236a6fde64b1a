/** What ends a turn or a session ends its requests. Older workers do so, too: the functions keep their names. */
export const endedRequests = `
-- Ends what other invocations left running: their open calls get a response that says so, and their requests
-- are cancelled.
create or replace function holdfast.heal_1(inout s holdfast.sessions, invocation text) language plpgsql as $$
declare
  broken holdfast.runs[] := '{}';
  r holdfast.runs;
  newest holdfast.ledger;
  last_sign timestamptz;
begin
  -- All are counted before the first outcome is written: a child's calls are its invocation's too.
  for r in
    select * from holdfast.runs t
    where t.session_id = s.id and t.status = 'running' and t.invocation_id <> invocation
    order by t.first_seq, t.run_key
  loop
    broken := array_append(broken, r);
    newest := holdfast.newest_step_1(s.id, r.run_key, r.step);
    s := holdfast.count_unknown_1(s, r, newest);
    last_sign := greatest(last_sign, holdfast.last_sign_1(r, newest));
  end loop;
  foreach r in array broken loop
    s := holdfast.append_last_responses_1(s, r, holdfast.newest_step_1(s.id, r.run_key, r.step), null);
    if r.run_key = r.invocation_id then
      -- Nobody worked on it between the last sign of life and now.
      s.busy_ms := s.busy_ms + holdfast.ms_between_1(r.created_at, last_sign);
    end if;
    perform holdfast.cancel_requests_1(s.id, r.invocation_id, r.run_key, null);
    update holdfast.runs t set status = 'interrupted', last_seq = s.last_seq, temp = '{}',
        ended_at = clock_timestamp(),
        outcome = ('{"status":"interrupted","usage":' || holdfast.used_by_1(s.id, r.invocation_id) || '}')::json
      where t.session_id = s.id and t.run_key = r.run_key;
  end loop;
end $$;

-- Parents are locked before their forks are looked for: a fork that is being made is found, or finds no parent. Only a
-- known session is deleted: the statement may be repeated when another has been made under the name.
create or replace function holdfast.delete_session_1(name_key text, known text[], with_forks boolean, idle_since timestamptz)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  doomed text[];
  level text[];
  one text;
  names json;
  events bigint;
begin
  level := array(
    select t.id from holdfast.sessions t where t.name_key = name_key and t.id = any (known) for update
  );
  if exists (select from holdfast.sessions t where t.id = any (level) and t.updated_at >= idle_since) then
    return json_build_object('kept', true);
  end if;
  while level <> '{}' loop
    doomed := level || doomed;
    level := array(select f.id from (
      select t.id from holdfast.sessions t where t.parent_id = any (level) order by t.id for update
    ) f);
  end loop;
  names := (
    select json_agg(json_build_object('app', t.app, 'userId', t.user_id, 'sessionId', t.name) order by d.n desc)
    from unnest(doomed) with ordinality d (id, n) join holdfast.sessions t on t.id = d.id
  );
  if cardinality(doomed) > 1 and not with_forks then
    return json_build_object('forks', names);
  end if;
  if exists (select from holdfast.sessions t where t.id = any (doomed) and t.updated_at >= idle_since) then
    return json_build_object('kept', true);
  end if;
  foreach one in array coalesce(doomed, '{}') loop
    delete from holdfast.events t where t.session_id = one;
    get diagnostics events = row_count;
    delete from holdfast.ledger t where t.session_id = one;
    delete from holdfast.runs t where t.session_id = one;
    delete from holdfast.inbox t where t.session_id = one;
    delete from holdfast.approvals t where t.session_id = one;
    delete from holdfast.responses t where t.session_id = one;
    update holdfast.audit t set content = null, salt = null where t.session_id = one and t.content is not null;
    delete from holdfast.sessions t where t.id = one;
    perform holdfast.audit_1(one, 'deleted', json_build_object('events', events));
  end loop;
  return json_build_object('deleted', coalesce(names, '[]'));
end $$;
`;
