-- As in src/approvals/voting.ts.
create or replace function holdfast.needs_signatures(terms json) returns boolean language sql immutable as $$
  select (terms -> 'approvers') is not null or coalesce((terms ->> 'quorum')::float8, 1) > 1
    or coalesce(terms ->> 'notRequester', '') = 'true'
$$;
