-- Whether an entry of this kind is a request's last.
create or replace function holdfast.ends_request(kind text) returns boolean language sql immutable as $$
  select kind in ('approved', 'rejected', 'answered', 'expired', 'cancelled')
$$;
