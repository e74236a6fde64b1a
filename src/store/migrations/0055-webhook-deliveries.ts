/** Milliseconds for which a delivery is known again: senders try for some days. */
const KEPT = 30 * 86_400_000;

/** Webhooks that came in: each is handled once. */
export const webhookDeliveries = `
-- \`holder\`: who handles it, until \`held_until\`; with an answer it was handled. Times in milliseconds since the epoch.
create table holdfast.webhook_deliveries (
  source text collate "C" not null,
  delivery text collate "C" not null,
  holder text collate "C" not null,
  came_at bigint not null,
  held_until bigint not null,
  answer json,
  primary key (source, delivery)
) with (fillfactor = 80);
create index webhook_deliveries_by_time on holdfast.webhook_deliveries (came_at);

-- What is known of a delivery: \`taken\` by this holder; else its answer, null while another one handles it.
create function holdfast.take_delivery_1(of_source text, of_delivery text, of_holder text, longest bigint) returns json
language plpgsql as $$
declare
  now bigint := holdfast.now_ms_1();
  d holdfast.webhook_deliveries;
begin
  delete from holdfast.webhook_deliveries t where t.came_at < now - ${KEPT};
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
`;
