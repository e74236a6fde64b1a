import { createServer, type Socket } from 'node:net';
import type { PGlite } from '@electric-sql/pglite';
import { breakdownIn } from './breakdown.ts';
import { MessageBuffer } from './postgres-messages.ts';

const NO_SSL = Buffer.from('N');

export interface PgliteServer {
  /** Resolves once what was asked so far is answered. Rejects where PGlite broke down over it. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Speaks PostgreSQL's protocol for a PGlite over one Unix socket or named pipe. PGlite is one backend: a client that
 * connects takes the place of the one before, whose open transaction is rolled back.
 *
 * Messages up to a Sync go to PGlite in one piece: in the way of `@electric-sql/pglite-socket`, one by one, a statement
 * takes 0.28 ms instead of 0.08, one of 16 MB 740 ms instead of 110, and a client that dies halfway leaves half of it.
 *
 * @param onCrash is told when PGlite has broken down, and throws where nothing more is to be done. SQL errors are answers.
 */
export function servePglite(
  database: PGlite,
  path: string,
  onCrash: (error: unknown) => void,
): Promise<PgliteServer> {
  let client: Socket | undefined;
  let work: Promise<void> = Promise.resolve();
  const queue = (task: () => Promise<unknown>) => {
    work = work.then(task).then(() => undefined, onCrash);
  };
  const leave = (socket: Socket) => {
    if (client !== socket) return;
    client = undefined;
    socket.destroy();
    queue(async () => {
      if (database.isInTransaction()) await database.exec('rollback');
      // The next client prepares its statements under the same names.
      await database.exec('deallocate all');
    });
  };
  const server = createServer((socket) => {
    if (client) leave(client);
    client = socket;
    const messages = new MessageBuffer();
    /** Sends the answer on, and returns its last bytes. */
    const answer = async (message: Uint8Array): Promise<Buffer | undefined> => {
      let last: Buffer | undefined;
      const onRawData = (bytes: Uint8Array) => {
        last = Buffer.from(bytes);
        if (socket.writable) socket.write(last);
      };
      await database.runExclusive(() => database.execProtocolRawStream(message, { onRawData }));
      return last;
    };
    socket.on('data', (chunk) => {
      for (const message of messages.add(chunk)) {
        if (message.type === 'ssl request') socket.write(NO_SSL);
        if (message.type === 'terminate') socket.end();
        if (message.type !== 'work') continue;
        queue(async () => {
          if (client !== socket) return;
          const last = await answer(message.bytes);
          // An overflow of its stack ends a statement without a word, and leaves its transaction behind.
          if (last === undefined) throw new Error('PGlite gave no answer to a statement');
          const breakdown = breakdownIn(last);
          if (breakdown === undefined) return;
          // Its last words reach the client before the thread ends.
          await new Promise<void>((sent) => socket.end(sent));
          throw breakdown;
        });
      }
    });
    socket.on('error', () => leave(socket));
    socket.on('close', () => leave(socket));
  });
  return new Promise((served, failed) => {
    server.once('error', failed);
    server.listen(path, () =>
      served({
        idle: () => work,
        stop: async () => {
          if (client) leave(client);
          await new Promise((closed) => server.close(closed));
          await work;
        },
      }),
    );
  });
}
