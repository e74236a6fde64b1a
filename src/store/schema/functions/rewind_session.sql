-- Takes a session back to where it was before a turn.
create or replace function holdfast.rewind_session(name_key text, before text, marker text, event_id uuid) returns json
language plpgsql as $$
declare
  s holdfast.sessions;
  event json;
  turn text[];
  first bigint;
begin
  s := holdfast.lock_root(name_key);
  if s.id is null then
    return json_build_object('problem', 'no session');
  end if;
  select holdfast.event_row(e) into event from holdfast.events e
    where e.session_id = s.id and e.dedupe_key = 'rewind:' || marker;
  if event is not null then
    return json_build_object('session', s.id, 'event', event);
  end if;
  turn := holdfast.generations(s.id, s.last_seq, before);
  select min(v.seq) into first from holdfast.visible(s.id, s.last_seq) v where v.invocation_id = any (turn);
  if first is null then
    return json_build_object('problem', 'no place', 'invocations', (
      select json_agg(i.id order by i.seq) from (
        select v.invocation_id as id, min(v.seq) as seq from holdfast.visible(s.id, s.last_seq) v
        group by 1 order by 2 desc limit 10
      ) i
    ));
  end if;
  -- A turn that was left open would else be answered behind the marker.
  s := holdfast.heal(s, '');
  event := holdfast.append_rewind(s, first - 1, marker, event_id, before, null);
  perform holdfast.audit(s.id, 'rewound',
    json_build_object('seq', s.last_seq + 1, 'hidesAfter', first - 1, 'beforeInvocationId', before));
  return json_build_object('session', s.id, 'event', event);
end $$;
