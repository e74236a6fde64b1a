-- What is known of a delivery: `taken` by this holder; else its answer, null while another one handles it.
create or replace function holdfast.take_delivery(of_source text, of_delivery text, of_holder text, longest bigint) returns json
language plpgsql as $$
declare
  now bigint := holdfast.now_ms();
  d holdfast.webhook_deliveries;
begin
  delete from holdfast.webhook_deliveries t where t.came_at < now - 30 * 86400000::bigint;
  loop
    insert into holdfast.webhook_deliveries as t (source, delivery, holder, came_at, held_until)
      values (of_source, of_delivery, of_holder, now, now + longest)
      on conflict (source, delivery) do update set holder = excluded.holder, held_until = excluded.held_until
      where t.answer is null and t.held_until < now;
    select * into d from holdfast.webhook_deliveries t where t.source = of_source and t.delivery = of_delivery;
    -- Given back in between.
    exit when found;
  end loop;
  if d.answer is null and d.holder = of_holder then
    return json_build_object('taken', true);
  end if;
  return json_build_object('taken', false, 'answer', d.answer);
end $$;
