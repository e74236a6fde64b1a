-- Takes no row: to pass one, PostgreSQL would read its states, which can be large.
create or replace function holdfast.summary(session text) returns json language plpgsql stable as $$
begin
  return (
    select json_build_object('session', s.id, 'app', s.app, 'userId', s.user_id, 'sessionId', s.name,
      'seq', s.last_seq, 'lastAgent', s.last_agent,
      'createdAt', floor(extract(epoch from s.created_at) * 1000)::bigint,
      'updatedAt', floor(extract(epoch from s.updated_at) * 1000)::bigint,
      'usage', json_build_array(s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost, s.unknown_calls),
      'forkedFrom', case when s.parent_id is not null then (
        select json_build_object('sessionId', p.name, 'seq', s.parent_seq)
        from holdfast.sessions p where p.id = s.parent_id) end)
    from holdfast.sessions s where s.id = session
  );
end $$;
