import { Socket } from 'node:net';
import pg from 'pg';
import { placeOf, reasonOf } from '../engine/database.ts';
import { StoreUnavailable } from '../store-errors.ts';

const APPLICATION_NAME = 'holdfast listen';
/** Milliseconds. */
const SHORTEST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;
/** A channel that is left is often followed again at once. */
const LINGER = 2_000;
/** A connection of which nothing comes for long may be cut without a word by what lies in between. */
const CHECK_INTERVAL = 30_000;
const LONGEST_CHECK = 10_000;
const KEEP_ALIVE_DELAY = 10_000;
const LONGEST_CLOSE = 1_000;

export interface NoticeListenerOptions {
  url: string;
  connectTimeout: number;
  onPayload(channel: string, payload: string): void;
  /** From now on these channels are heard; what was sent to them before was missed. */
  onListening(channels: readonly string[]): void;
}

/** One connection that hears the channels that somebody follows, and comes back by itself. */
export class NoticeListener {
  readonly #options: NoticeListenerOptions;
  /** How many follow each. */
  readonly #followers = new Map<string, number>();
  readonly #leaving = new Map<string, NodeJS.Timeout>();
  #client: pg.Client | undefined;
  #socket: Socket | undefined;
  /** The channels that the connection listens to. */
  #listened = new Set<string>();
  #working = false;
  #pause = SHORTEST_PAUSE;
  #timer: NodeJS.Timeout | undefined;
  #checks: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(options: NoticeListenerOptions) {
    this.#options = options;
  }

  /** @throws StoreUnavailable where the first connection can't be had. */
  static async open(options: NoticeListenerOptions): Promise<NoticeListener> {
    const listener = new NoticeListener(options);
    try {
      await listener.#connect();
    } catch (error) {
      throw new StoreUnavailable(
        `the store is unavailable (listen: ${placeOf({ connectionString: options.url })}): ${reasonOf(error)}`,
        { cause: error },
      );
    }
    return listener;
  }

  get connected(): boolean {
    return this.#client !== undefined;
  }

  /** @returns ends the following. */
  follow(channel: string): () => void {
    clearTimeout(this.#leaving.get(channel));
    this.#leaving.delete(channel);
    this.#followers.set(channel, (this.#followers.get(channel) ?? 0) + 1);
    this.#work();
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#leave(channel);
    };
  }

  /** Takes a second at most: nobody may be there to answer. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const timer of this.#leaving.values()) clearTimeout(timer);
    const [client, socket] = [this.#client, this.#socket];
    this.#forget();
    const late = setTimeout(() => socket?.destroy(), LONGEST_CLOSE);
    await client?.end();
    clearTimeout(late);
  }

  #leave(channel: string): void {
    const left = (this.#followers.get(channel) ?? 0) - 1;
    this.#followers.set(channel, left);
    if (left > 0 || this.#closed) return;
    const timer = setTimeout(() => {
      this.#leaving.delete(channel);
      this.#followers.delete(channel);
      this.#work();
    }, LINGER);
    this.#leaving.set(channel, timer.unref());
  }

  async #connect(): Promise<void> {
    const { url, connectTimeout } = this.#options;
    const socket = new Socket();
    const client = new pg.Client({
      connectionString: url,
      stream: () => socket,
      application_name: APPLICATION_NAME,
      connectionTimeoutMillis: connectTimeout,
      query_timeout: LONGEST_CHECK,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    });
    // Told before it connects, too, and then to whom connects it.
    client.on('error', () => this.#lost(client));
    client.on('end', () => this.#lost(client));
    client.on('notification', ({ channel, payload = '' }) => this.#options.onPayload(channel, payload));
    await client.connect();
    if (this.#closed) {
      await client.end();
      return;
    }
    this.#client = client;
    this.#socket = socket;
    this.#pause = SHORTEST_PAUSE;
    this.#checks = setInterval(() => void this.#check(client), CHECK_INTERVAL).unref();
    this.#work();
  }

  #lost(client: pg.Client): void {
    if (client !== this.#client) return;
    this.#forget();
    // It may be alive yet, and deaf.
    client.end().catch(() => undefined);
    this.#reconnect();
  }

  #forget(): void {
    this.#client = undefined;
    this.#listened = new Set();
    clearInterval(this.#checks);
  }

  #reconnect(): void {
    if (this.#closed) return;
    const pause = this.#pause * (0.5 + Math.random() / 2);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    this.#timer = setTimeout(() => {
      this.#connect().catch(() => this.#reconnect());
    }, pause);
  }

  async #check(client: pg.Client): Promise<void> {
    await client.query('select').catch(() => this.#lost(client));
  }

  /** Brings what the connection listens to in line with what is followed. */
  #work(): void {
    if (this.#working) return;
    this.#working = true;
    // Channels that are followed in one go take one statement.
    queueMicrotask(() => void this.#align());
  }

  async #align(): Promise<void> {
    for (;;) {
      const client = this.#client;
      const added = [...this.#followers.keys()].filter((channel) => !this.#listened.has(channel));
      const left = [...this.#listened].filter((channel) => !this.#followers.has(channel));
      if (client === undefined || added.length + left.length === 0) {
        this.#working = false;
        return;
      }
      const commands = [
        ...added.map((channel) => `listen "${channel}"`),
        ...left.map((channel) => `unlisten "${channel}"`),
      ];
      try {
        await client.query(commands.join(';'));
      } catch {
        // It comes back, and listens to everything again.
        this.#lost(client);
      }
      if (client !== this.#client) continue;
      for (const channel of left) this.#listened.delete(channel);
      for (const channel of added) this.#listened.add(channel);
      if (added.length > 0) this.#options.onListening(added);
    }
  }
}
