-- Refuses a step that comes too late, raises the session's fence, and ends what older invocations have left running. A called
-- agent's session takes no other turns: its name is known to whoever follows the root's.
create or replace function holdfast.pass_fences(inout s holdfast.sessions, r holdfast.runs, invocation text, run text,
  at_step int, started_at bigint, number int, seq bigint) language plpgsql as $$
declare
  raised boolean := (started_at, number) > (s.fence_started_at, s.fence_invocation);
begin
  if s.root_session is not null and invocation <> s.name then
    raise exception using errcode = 'HF005', message = format(
      'session %s is that of an agent which a tool has run: send messages to the session of its root', s.name);
  end if;
  if not raised and (started_at, number) <> (s.fence_started_at, s.fence_invocation) then
    raise exception using errcode = 'HF001', message = format(
      'step %s of run %s comes too late: a newer invocation writes to this session', at_step, run);
  end if;
  if r.run_key is not null
      and (started_at, number, at_step) < (r.fence_started_at, r.fence_invocation, r.step) then
    raise exception using errcode = 'HF001', message = format(
      'step %s of run %s comes too late: step %s has begun', at_step, run, r.step);
  end if;
  if s.last_seq < seq then
    raise exception using errcode = 'HF002', message = format(
      'the transcript ends at seq %s, the turn has seen seq %s', s.last_seq, seq);
  end if;
  if raised then
    s := holdfast.heal(s, invocation);
    s.fence_started_at := started_at;
    s.fence_invocation := number;
  end if;
end $$;
