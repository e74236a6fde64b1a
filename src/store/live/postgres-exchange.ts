import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type Database, UNAWAITED } from '../engine/database.ts';
import { InvalidStoreUrl } from '../store-errors.ts';
import type { StoreNotice, Topic } from './live-feed.ts';
import type { LiveNotices, NoticeExchange } from './live-notices.ts';
import { NoticeListener } from './notice-listener.ts';
import { NoticeOutbox, type OutgoingNotice } from './notice-outbox.ts';
import { channelOf, decodeNotice, encodeNotice } from './notice-payload.ts';

/** Nothing of it is to be found later, and it would have the disk written to. */
const NOTIFY = `select count(pg_notify(c, p)), ${UNAWAITED} from unnest($1::text[], $2::text[]) as n (c, p)`;

const LAST_SEQS = 'select id, last_seq from holdfast.sessions where id = any($1::text[])';

/** Milliseconds until a notice of this process is sent once more to see whether it comes. */
const RETRY_PROBE = 1_000;

export interface PostgresExchangeOptions {
  /** URL of the connection that listens. */
  listen?: { url: string; connectTimeout: number };
}

/** NOTIFY on the store's pool, outside of its transactions; LISTEN on a connection of its own. */
export class PostgresExchange implements NoticeExchange {
  readonly #database: Database;
  readonly #notices: LiveNotices;
  /** Tells what this store sent from what others did. */
  readonly #origin = randomBytes(9).toString('base64url');
  readonly #outbox: NoticeOutbox;
  readonly #topics = new Map<string, { topic: Topic; followers: number }>();
  readonly #probe = { channel: channelOf({ session: this.#origin }), come: Promise.withResolvers<void>() };
  #listener: NoticeListener | undefined;

  private constructor(database: Database, notices: LiveNotices) {
    this.#database = database;
    this.#notices = notices;
    this.#outbox = new NoticeOutbox((outgoing) => this.#notify(outgoing));
  }

  /**
   * It passes on to `notices`.
   *
   * @throws StoreUnavailable, InvalidStoreUrl where what is sent doesn't come to the connection that listens
   */
  static async open(
    database: Database,
    notices: LiveNotices,
    { listen }: PostgresExchangeOptions,
  ): Promise<PostgresExchange> {
    const exchange = new PostgresExchange(database, notices);
    if (listen !== undefined) await exchange.#listen(listen.url, listen.connectTimeout);
    return exchange;
  }

  get listens(): boolean {
    return this.#listener?.connected ?? false;
  }

  send(topic: Topic, notice: StoreNotice): void {
    this.#outbox.add(topic, notice);
  }

  follow(topic: Topic): () => void {
    const listener = this.#listener;
    if (listener === undefined) return () => undefined;
    const channel = channelOf(topic);
    const followed = this.#topics.get(channel) ?? { topic, followers: 0 };
    this.#topics.set(channel, followed);
    followed.followers += 1;
    const unfollow = listener.follow(channel);
    return () => {
      followed.followers -= 1;
      if (followed.followers === 0) this.#topics.delete(channel);
      unfollow();
    };
  }

  async close(): Promise<void> {
    await this.#outbox.close();
    await this.#listener?.close();
  }

  async #listen(url: string, connectTimeout: number): Promise<void> {
    const listening = Promise.withResolvers<void>();
    this.#listener = await NoticeListener.open({
      url,
      connectTimeout,
      onPayload: (channel, payload) => this.#heard(channel, payload),
      onListening: (channels) => {
        if (channels.includes(this.#probe.channel)) listening.resolve();
        void this.#catchUp(channels);
      },
    });
    const unfollow = this.#listener.follow(this.#probe.channel);
    try {
      await this.#untilReconnected(listening.promise, connectTimeout);
    } catch (error) {
      await this.#listener.close();
      throw error;
    } finally {
      unfollow();
    }
  }

  /** A pooler in transaction mode takes LISTEN, and gives nothing; NOTIFY stays within a database. */
  async #untilReconnected(listening: Promise<void>, patience: number): Promise<void> {
    const over = new AbortController();
    const deadline = setTimeout(patience, 'over', { signal: over.signal });
    try {
      let outcome = await Promise.race([listening, deadline]);
      while (outcome !== 'over') {
        await this.#database.query(NOTIFY, [[this.#probe.channel], [this.#origin]]);
        const again = setTimeout(RETRY_PROBE, 'again', { signal: over.signal });
        again.catch(() => undefined);
        outcome = await Promise.race([this.#probe.come.promise, again, deadline]);
        if (outcome === undefined) return;
      }
    } finally {
      deadline.catch(() => undefined);
      over.abort();
    }
    throw new InvalidStoreUrl(
      'listen: what is sent to the database of `url` is not heard there; it must lead to the same database, and not ' +
        'through a pooler in transaction mode, as PgBouncer is: give the URL of a direct connection',
    );
  }

  #notify(outgoing: readonly OutgoingNotice[]): Promise<unknown> {
    const channels: string[] = [];
    const payloads: string[] = [];
    for (const { topic, notice } of outgoing) {
      const payload = encodeNotice(notice, this.#origin);
      if (payload === undefined) continue;
      channels.push(channelOf(topic));
      payloads.push(payload);
    }
    return this.#database.query(NOTIFY, [channels, payloads]);
  }

  #heard(channel: string, payload: string): void {
    if (channel === this.#probe.channel) this.#probe.come.resolve();
    const topic = this.#topics.get(channel)?.topic;
    const received = topic === undefined ? undefined : decodeNotice(payload);
    if (topic === undefined || received === undefined || received.origin === this.#origin) return;
    if ('session' in topic) this.#notices.heard({ ...topic, ...received.notice });
    else this.#notices.turnBegun(topic.names);
  }

  /** Notices from before these channels were listened to are lost, but written rows can be read. */
  async #catchUp(channels: readonly string[]): Promise<void> {
    const sessions: string[] = [];
    for (const channel of channels) {
      const topic = this.#topics.get(channel)?.topic;
      if (topic === undefined) continue;
      if ('session' in topic) sessions.push(topic.session);
      else this.#notices.turnBegun(topic.names);
    }
    if (sessions.length === 0) return;
    // Where it fails, those who follow find out by looking.
    const found = await this.#database
      .query<{ id: string; last_seq: string }>(LAST_SEQS, [sessions])
      .catch(() => []);
    for (const { id, last_seq } of found) {
      this.#notices.heard({ type: 'appended', session: id, seq: Number(last_seq) });
    }
  }
}
