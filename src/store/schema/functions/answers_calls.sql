-- Whether it is worth a look: responses of functions are rare in messages.
create or replace function holdfast.answers_calls(said json) returns boolean language sql immutable as $$
  select strpos(said::text, '"functionResponse"') > 0
$$;
