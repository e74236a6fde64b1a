-- By one call after the other: the index of the session would do, too, and read all of its jobs.
create or replace function holdfast.jobs_of_calls(session text, keys text[]) returns setof holdfast.jobs
language plpgsql stable as $$
begin
  for n in 1 .. coalesce(cardinality(keys), 0) loop
    return query select t.* from (select * from holdfast.jobs a where a.call_key = keys[n] offset 0) t
      where t.session_id = session;
  end loop;
end $$;
