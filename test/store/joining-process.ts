import { sql } from 'kysely';
import { openStore } from '../../src/store/open-store.ts';
import { Turn } from './suite/turns/turn.ts';

/** Joins the store of a socket, writes a turn, and holds a transaction with an app's state in it until it is killed. */
const [socket = '', key = ''] = process.argv.slice(2);
const store = await openStore({ socket });
const turn = new Turn(store);
await turn.opened(1);
await turn.commit(1, 0);
console.log(JSON.stringify(turn.names));
await store.db.transaction().execute(async (transaction) => {
  await sql`insert into holdfast.app_state values ('k', ${Buffer.from(key)}, 'a', ${key}, '1')`.execute(
    transaction,
  );
  console.log('holding');
  await new Promise(() => setInterval(() => undefined, 60_000));
});
