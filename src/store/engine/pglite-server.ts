import { createServer, type Socket } from 'node:net';
import type { PGlite } from '@electric-sql/pglite';
import { outliveErrors } from '../../net/outlive-errors.ts';
import {
  applicationNameIn,
  breakdownIn,
  isOutsideTransaction,
  MessageBuffer,
  preparesByName,
  SYNC_MESSAGE,
} from './wire-messages.ts';

const NO_SSL = Buffer.from('N');

/** Bytes: PGlite sends an answer in pieces, and cuts its last messages where a piece is full. */
const LONGEST_LAST_WORDS = 1024;

export interface PgliteServer {
  /** Resolves once what it was doing is done. Rejects where PGlite broke down over it. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

interface Client {
  socket: Socket;
  /** Its `application_name`. */
  name: string | undefined;
  /** It has given names to statements, and they last as long as PGlite. */
  prepares: boolean;
}

interface Work {
  client: Client;
  bytes: Uint8Array;
}

/**
 * Speaks PostgreSQL's protocol for a PGlite over one Unix socket or named pipe. PGlite is one backend: its clients take
 * turns. The messages of one up to a Sync are done in one piece, and while one is in a transaction, or between a Flush and its
 * Sync, the others wait. One that goes away is rolled back. One that connects under the name (`application_name`) of another
 * takes its place, whose end may not have been noticed yet. Only clients of one name may prepare statements by name.
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
  const pglite = new SharedPglite(database, onCrash);
  const server = createServer((socket) => pglite.serve(socket));
  return new Promise((served, failed) => {
    server.once('error', failed);
    server.listen(path, () => {
      server.off('error', failed);
      outliveErrors(server, 'the embedded store');
      served({
        idle: () => pglite.current,
        stop: async () => {
          const closed = new Promise((done) => server.close(done));
          await pglite.end();
          await closed;
        },
      });
    });
  });
}

class SharedPglite {
  /** Its current statement, or the last one. */
  current: Promise<void> = Promise.resolve();
  readonly #database: PGlite;
  readonly #onCrash: (error: unknown) => void;
  readonly #clients = new Set<Client>();
  /** In the order in which it came. */
  #work: Work[] = [];
  #left: Client[] = [];
  /** The connection whose transaction is open. */
  #holder: Client | undefined;
  #pumping: Promise<void> | undefined;
  #broken = false;

  constructor(database: PGlite, onCrash: (error: unknown) => void) {
    this.#database = database;
    this.#onCrash = onCrash;
  }

  serve(socket: Socket): void {
    const client: Client = { socket, name: undefined, prepares: false };
    this.#clients.add(client);
    const messages = new MessageBuffer();
    let started = false;
    socket.on('data', (chunk) => {
      for (const message of messages.add(chunk)) {
        if (message.type === 'ssl request') socket.write(NO_SSL);
        if (message.type === 'terminate') socket.end();
        if (message.type !== 'work') continue;
        if (!started) this.#introduce(client, applicationNameIn(message.bytes));
        started = true;
        this.#add({ client, bytes: message.bytes });
      }
    });
    socket.on('error', () => this.#leave(client));
    socket.on('close', () => this.#leave(client));
  }

  async end(): Promise<void> {
    for (const client of this.#clients) this.#leave(client);
    await this.#pumping;
  }

  #introduce(client: Client, name: string): void {
    for (const other of this.#clients) if (other.name === name) this.#leave(other);
    client.name = name;
  }

  #add(work: Work): void {
    if (!this.#clients.has(work.client)) return;
    this.#work.push(work);
    this.#pump();
  }

  #leave(client: Client): void {
    if (!this.#clients.delete(client)) return;
    client.socket.destroy();
    this.#work = this.#work.filter((work) => work.client !== client);
    this.#left.push(client);
    this.#pump();
  }

  #pump(): void {
    if (this.#pumping || this.#broken) return;
    this.#pumping = this.#doAll().finally(() => {
      this.#pumping = undefined;
    });
    // The listeners were told of it.
    this.#pumping.catch(() => undefined);
  }

  async #doAll(): Promise<void> {
    for (let task = this.#next(); task !== undefined; task = this.#next()) {
      this.current = task().catch((error: unknown) => {
        this.#broken = true;
        this.#onCrash(error);
        this.#broken = false;
      });
      await this.current;
    }
  }

  #next(): (() => Promise<void>) | undefined {
    const left = this.#left.shift();
    if (left) return () => this.#clearUp(left);
    const index =
      this.#holder === undefined ? 0 : this.#work.findIndex(({ client }) => client === this.#holder);
    const [work] = index < 0 ? [] : this.#work.splice(index, 1);
    return work && (() => this.#do(work));
  }

  async #do({ client, bytes }: Work): Promise<void> {
    client.prepares ||= preparesByName(bytes);
    const last = await this.#answer(client.socket, bytes);
    // An overflow of its stack ends a statement without a word, and leaves its transaction open.
    if (last === undefined) throw new Error('PGlite gave no answer to a statement');
    this.#holder = isOutsideTransaction(last) ? undefined : client;
    const breakdown = breakdownIn(last);
    if (breakdown === undefined) return;
    // Its last words reach the client before the thread ends.
    await new Promise<void>((sent) => client.socket.end(sent));
    throw breakdown;
  }

  /** Sends the answer on, and returns its last bytes. */
  async #answer(socket: Socket, message: Uint8Array): Promise<Buffer | undefined> {
    let last: Buffer | undefined;
    const onRawData = (bytes: Uint8Array) => {
      const piece = Buffer.from(bytes);
      if (socket.writable) socket.write(piece);
      const before = piece.length < LONGEST_LAST_WORDS ? last?.subarray(-LONGEST_LAST_WORDS) : undefined;
      last = before === undefined ? piece : Buffer.concat([before, piece]);
    };
    const database = this.#database;
    await database.runExclusive(() => database.execProtocolRawStream(message, { onRawData }));
    return last;
  }

  async #clearUp(client: Client): Promise<void> {
    const database = this.#database;
    if (this.#holder === client) {
      // After an error nothing else ends what a Flush has begun.
      await database.runExclusive(() => database.execProtocolRaw(SYNC_MESSAGE));
      if (database.isInTransaction()) await database.exec('rollback');
      this.#holder = undefined;
    }
    // Its successor prepares its statements under the same names.
    if (client.prepares) await database.exec('deallocate all');
  }
}
