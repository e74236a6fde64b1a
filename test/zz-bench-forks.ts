import { mkdtempSync } from 'node:fs';
import { sql } from 'kysely';
import { openStore } from '/work/main/src/store/open-store.ts';
const store = await openStore({ folder: mkdtempSync('/tmp/bench-') });
const names = { app: 'a', userId: 'u', sessionId: 's' };
const s = await store.createSession(names);
await sql`insert into holdfast.events (session_id, seq, invocation_id, run_key, step, kind, author, body, dedupe_key)
 select ${s.session}, n, 'e-' || n / 4, 'e-' || n / 4, 1, case n % 2 when 0 then 'model' else 'message' end, 'clerk', ('{"invocationId":"e","author":"clerk","content":{"role":"user","parts":[{"text":"' || repeat('x', 200) || '"}]},"actions":{"stateDelta":{"k' || n % 20 || '":' || n || '}}}')::json, 'd' || n from generate_series(1, 2000) n`.execute(store.db);
await sql`update holdfast.sessions set last_seq = 2000 where id = ${s.session}`.execute(store.db);
await sql.raw(`create function holdfast.events_of_0(session text, after bigint, at_most int) returns json
language plpgsql stable as $$
begin
  return (select json_agg(json_build_array(e.seq, e.kind, e.run_key, e.step, e.id,
    floor(extract(epoch from e.created_at) * 1000)::bigint, e.body))
  from (
    select * from holdfast.events where session_id = session and seq > after order by seq limit at_most
  ) e);
end $$`).execute(store.db);
async function time(label: string, n: number, run: () => Promise<unknown>) {
  await run();
  const ms: number[] = [];
  for (let i = 0; i < n; i++) { const t = performance.now(); await run(); ms.push(performance.now() - t); }
  ms.sort((a, b) => a - b);
  console.log(label, 'p50', ms[n >> 1]!.toFixed(2), 'min', ms[0]!.toFixed(2));
}
for (const round of [1, 2]) {
for (const [after, n] of [[0, 30], [1990, 300], [2000, 300]] as const) {
  await time(`old after ${after}`, n, () => sql`select holdfast.events_of_0(${s.session}, ${after}::bigint, null)`.execute(store.db));
  await time(`new after ${after}`, n, () => sql`select holdfast.events_of_1(${s.session}, ${after}::bigint, null)`.execute(store.db));
}}
await time('getSession all', 20, () => store.getSession(names));
await time('readEvents all', 20, () => store.readEvents({ ...names, limit: 5000 }));
await time('getSession recent 10', 100, () => store.getSession({ ...names, numRecentEvents: 10 }));
let k = 0;
await time('fork at end', 10, () => store.forkSession({ ...names, to: `f${k++}` }).then(() => 1));
await time('fork at 1000', 10, () => store.forkSession({ ...names, at: 1000, to: `f${k++}` }).then(() => 1));
await time('get fork', 10, () => store.getSession({ ...names, sessionId: 'f0' }));
await time('readEvents fork first 10', 50, () => store.readEvents({ ...names, sessionId: 'f0', limit: 10 }));
await time('rewind', 5, () => store.rewindSession({ ...names, sessionId: `f${5 + (k++ % 1)}`, beforeInvocationId: `e-${490 - k}` }));
await time('list', 20, () => store.listSessions({ app: 'a' }));
await store.close();
