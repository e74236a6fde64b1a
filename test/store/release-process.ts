import { createInterface } from 'node:readline';
import { sql } from 'kysely';
import pg from 'pg';
import { Database } from '../../src/store/engine/database.ts';
import { migrate } from '../../src/store/engine/migrate.ts';
import { openStore } from '../../src/store/open-store.ts';
import { NEXT_RELEASE } from './next-release.ts';
import { SteadyTurns } from './steady-turns.ts';
import { JobTurn } from './suite/jobs/job-turn.ts';

/** A worker of a release, `this` or `next`: turns one after another, and one that stays in its first call until `finish`. */
const [url = '', release = 'this'] = process.argv.slice(2);
const onProgress = (line: string) => console.log(`progress ${line}`);

if (release === 'next') {
  const database = new Database(new pg.Pool({ connectionString: url, max: 1 }));
  await migrate(database, onProgress, NEXT_RELEASE);
  await database.close();
}
const store = await openStore({ url, poolSize: 4, onProgress });
const waiting = new JobTurn(store);
await waiting.calling();
const turns = new SteadyTurns(store, 2);
console.log(`open ${waiting.jobId(0)}`);

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'turns') console.log(`turns ${turns.turns}`);
  if (line === 'finish') break;
}
if (release === 'next') await openLabelled(waiting);
await waiting.parked(0);
await waiting.endJob(0);
await waiting.settle(1, 0, { ok: true });
await waiting.opened(2);
await waiting.commit(2, 0);
await turns.end();
console.log(`failures ${turns.failures.map(String)}`);
await store.close();
process.stdin.destroy();

/** As the next release's `openJob` does it. */
async function openLabelled(turn: JobTurn): Promise<void> {
  const job = turn.newJob(0);
  const args = {
    ...{ session: job.session, job_id: job.jobId, run_key: job.runKey, call_key: job.callKey },
    ...{ call_id: job.callId, tool: job.tool, agent: job.agent, deadline: job.deadline, label: 'blue' },
  };
  await sql`select holdfast.open_job(${JSON.stringify(args)})`.execute(store.db);
}
