-- Jobs that this transaction has ended by cutting off their calls.
create or replace function holdfast.cut_off_now() returns text[] language sql volatile as $$
  select string_to_array(nullif(current_setting('holdfast.cut_off_jobs', true), ''), ' ')
$$;
