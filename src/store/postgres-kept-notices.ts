import type { Database } from './engine/database.ts';
import { answerDelivery, giveDeliveryBack, takeDelivery } from './messages/webhook-rows.ts';
import type { WebhookStore } from './messages/webhook-store.ts';
import type { DeadNotice, KeptNoticeStore } from './notices/kept-notice-store.ts';
import {
  beginTelling,
  beginTellingEnd,
  buryNotice,
  deadNoticesNamed,
  dropDeadNotice,
  endTelling,
  findDeadNotice,
  findNote,
  keepNote,
  listDeadNotices,
  noteOf,
} from './notices/kept-notices.ts';
import { PostgresAccess } from './postgres-access.ts';

/** What the store knows of notices that go out, and of webhooks that come in. */
export class PostgresKeptNotices extends PostgresAccess implements KeptNoticeStore, WebhookStore {
  readonly #database: Database;

  constructor(database: Database) {
    super(database);
    this.#database = database;
  }

  noteOf(name: Parameters<KeptNoticeStore['noteOf']>[0]): Promise<unknown> {
    return noteOf(this.#database, name);
  }

  keepNote(note: Parameters<KeptNoticeStore['keepNote']>[0]): Promise<boolean> {
    return keepNote(this.#database, note);
  }

  findNote(notifier: string, place: string): ReturnType<KeptNoticeStore['findNote']> {
    return findNote(this.#database, notifier, place);
  }

  beginTelling(name: Parameters<KeptNoticeStore['beginTelling']>[0]): Promise<boolean> {
    return beginTelling(this.#database, name);
  }

  endTelling(name: Parameters<KeptNoticeStore['endTelling']>[0]): Promise<void> {
    return endTelling(this.#database, name);
  }

  beginTellingEnd(name: Parameters<KeptNoticeStore['beginTellingEnd']>[0]): Promise<boolean> {
    return beginTellingEnd(this.#database, name);
  }

  buryNotice(notice: Parameters<KeptNoticeStore['buryNotice']>[0]): Promise<void> {
    return buryNotice(this.#database, notice);
  }

  listDeadNotices(list: Parameters<KeptNoticeStore['listDeadNotices']>[0] = {}): Promise<DeadNotice[]> {
    return listDeadNotices(this.#database, list);
  }

  findDeadNotice(noticeId: string): Promise<DeadNotice | undefined> {
    return findDeadNotice(this.#database, noticeId);
  }

  deadNoticesNamed(end: string): Promise<DeadNotice[]> {
    return deadNoticesNamed(this.#database, end);
  }

  dropDeadNotice(notice: Parameters<KeptNoticeStore['dropDeadNotice']>[0]): Promise<boolean> {
    return dropDeadNotice(this.#database, notice);
  }

  takeDelivery(take: Parameters<WebhookStore['takeDelivery']>[0]): ReturnType<WebhookStore['takeDelivery']> {
    return takeDelivery(this.#database, take);
  }

  answerDelivery(answer: Parameters<WebhookStore['answerDelivery']>[0]): Promise<void> {
    return answerDelivery(this.#database, answer);
  }

  giveDeliveryBack(give: Parameters<WebhookStore['giveDeliveryBack']>[0]): Promise<void> {
    return giveDeliveryBack(this.#database, give);
  }
}
