-- What the actions of a step's calls come to, in call order.
create or replace function holdfast.merged_actions(of_calls jsonb[]) returns jsonb
language plpgsql immutable as $$
declare
  actions jsonb;
  delta jsonb := '{}';
  artifacts jsonb := '{}';
  flags jsonb := '{}';
begin
  foreach actions in array coalesce(of_calls, '{}') loop
    if actions ? 'stateDelta' then
      delta := holdfast.merge_deltas(delta, actions -> 'stateDelta', 0);
    end if;
    if actions ? 'artifactDelta' then
      artifacts := artifacts || coalesce((
        select jsonb_object_agg(a.key, greatest(a.value::numeric, (artifacts ->> a.key)::numeric))
        from jsonb_each_text(actions -> 'artifactDelta') a
      ), '{}');
    end if;
    if actions -> 'skipSummarization' = 'true' then
      flags := flags || '{"skipSummarization":true}';
    end if;
    if actions -> 'escalate' = 'true' then
      flags := flags || '{"escalate":true}';
    end if;
    if coalesce(actions ->> 'transferToAgent', '') <> '' then
      flags := flags || jsonb_build_object('transferToAgent', actions -> 'transferToAgent');
    end if;
  end loop;
  return jsonb_build_object('stateDelta', delta, 'artifactDelta', artifacts) || flags;
end $$;
