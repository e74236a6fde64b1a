import type { Kysely } from 'kysely';
import type pg from 'pg';
import type { ChainFence } from '../protocol/agent-run.ts';
import { stepKeyOf } from '../protocol/identity.ts';
import type { KeepMessagesInput, KeptMessage } from '../protocol/step.ts';
import { Database, type DatabaseOptions } from './engine/database.ts';
import { migrate } from './engine/migrate.ts';
import type { Tables } from './engine/tables.ts';
import { Notices } from './live/notices.ts';
import { PostgresExchange, type PostgresExchangeOptions } from './live/postgres-exchange.ts';
import { findWaiting, forgetUpload, keepMessages, readInbox, uploadMessage } from './messages/inbox.ts';
import { PostgresPages } from './postgres-pages.ts';
import type {
  AppendEvent,
  AuditRow,
  CreateSession,
  DeletedSession,
  DeleteSession,
  ForkSession,
  GetSession,
  IdleSession,
  ListedSessions,
  ListSessions,
  PreparedRetry,
  RetryTurn,
  RewindSession,
  Session,
  SessionPlace,
} from './sessions/session-store.ts';
import { appendEvent } from './sessions/sessions-append.ts';
import { readAudit } from './sessions/sessions-audit.ts';
import { deleteSession, forksOf } from './sessions/sessions-delete.ts';
import { forkSession } from './sessions/sessions-fork.ts';
import { createSession, getSession, listSessions, sessionsIdleSince } from './sessions/sessions-read.ts';
import { prepareRetry } from './sessions/sessions-retry.ts';
import { rewindSession } from './sessions/sessions-rewind.ts';
import type {
  BeginCall,
  BegunCall,
  CallAsPlanned,
  CommitStep,
  CommittedStep,
  InboxRow,
  KnownCall,
  LiveNotice,
  OpenedStep,
  OpenStep,
  PeekedStep,
  ReadEvents,
  RecordedInvocation,
  SessionNames,
  SettleCall,
  SettledCall,
  SettledStep,
  SettleStep,
  StepToPeek,
  Store,
  StoredEvent,
  StoreNotice,
  TurnSlot,
  UploadMessage,
} from './store.ts';
import { CallLedger } from './turns/call-ledger.ts';
import { askOnce, recordFailure, recordOnce } from './turns/ledger-notes.ts';
import type { LimitStore } from './turns/limit-store.ts';
import { limitModel, modelAnswered } from './turns/model-limits.ts';
import {
  callArguments,
  findCall,
  findInvocation,
  findPlannedCall,
  findSession,
  newestFence,
  readEvents,
  readOnce,
  readReference,
} from './turns/reads.ts';
import { peekStep } from './turns/step-peek.ts';
import { settleStep } from './turns/step-settling.ts';
import { commitStep, openStep } from './turns/step-writes.ts';
import { freeTurnSlot, takeTurnSlot } from './turns/turn-slots.ts';

export interface PostgresStoreOptions extends DatabaseOptions {
  onProgress?: (line: string) => void;
  /** Other processes use the database: they are told what this one does. */
  exchange?: PostgresExchangeOptions;
  /** Of the embedded store: where other processes of this user join it. They forward their notices. */
  socket?: string;
  /** Runs after the pool has ended. */
  onClose?: () => Promise<void>;
}

/**
 * The store over a pool of PostgreSQL connections, embedded or not. What has to happen together is one statement, and
 * prepared ones are given up where they get lost, so that poolers in transaction mode work.
 */
export class PostgresStore extends PostgresPages implements Store {
  /** Queries on the store's own pool. Its tables are read at one's own risk: they change between releases. */
  readonly db: Kysely<Tables>;
  /** Of the embedded store that this process owns: what `openStore({ socket })` takes in its other processes. */
  readonly socket: string | undefined;
  readonly #database: Database;
  readonly #ledger: CallLedger;
  readonly #notices: Notices;
  readonly #onClose: () => Promise<void>;
  #closing: Promise<void> | undefined;

  private constructor(
    database: Database,
    notices: Notices,
    { socket, onClose }: { socket: string | undefined; onClose: () => Promise<void> },
  ) {
    super(database, notices);
    this.db = database.db;
    this.socket = socket;
    this.#database = database;
    this.#ledger = new CallLedger(database);
    this.#notices = notices;
    this.#onClose = onClose;
  }

  /**
   * Migrates the pool's database where it is behind. The store ends the pool when it is closed, not when this fails.
   *
   * @throws StoreUnavailable, InvalidStoreUrl
   */
  static async open(pool: pg.Pool, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
    const {
      onProgress = () => undefined,
      onClose = async () => undefined,
      exchange,
      socket,
      ...rest
    } = options;
    const database = new Database(pool, rest);
    await migrate(database, onProgress);
    const notices = new Notices();
    if (exchange) notices.connect(await PostgresExchange.open(database, notices, exchange));
    return new PostgresStore(database, notices, { socket, onClose });
  }

  async openStep(step: OpenStep): Promise<OpenedStep> {
    const { opened, appended, news = [], above } = await openStep(this.#database, step);
    if (appended) {
      const { session, seq } = opened;
      this.#notices.tell({ type: 'appended', session, seq, ...namesOf(step) });
    }
    this.tellJobs(opened.session, news);
    if (above !== undefined) this.tellChild(above, opened.session, step);
    return opened;
  }

  peekStep(step: StepToPeek): Promise<PeekedStep> {
    return peekStep(this.#database, step);
  }

  async commitStep(step: CommitStep): Promise<CommittedStep> {
    const committed = await commitStep(this.#database, step);
    if (committed.kind === 'committed' && step.events.length > 0) {
      this.#notices.tell({ type: 'appended', session: step.session, seq: committed.seq });
    }
    return committed;
  }

  recordStepFailure(step: Parameters<Store['recordStepFailure']>[0]): Promise<number> {
    const { session, runKey, step: number, error, counts = true, attempt } = step;
    return recordFailure(this.#database, { session, key: stepKeyOf(runKey, number), error, counts, attempt });
  }

  async beginCall(call: BeginCall): Promise<BegunCall> {
    const begun = await this.#ledger.begin(call);
    if (begun.kind === 'started') {
      const { session, runKey, callKey, tool } = call;
      this.#notices.tell({
        type: 'call started',
        session,
        runKey,
        callKey,
        tool,
        attempt: begun.attempt,
      });
    }
    return begun;
  }

  async settleCall(call: SettleCall): Promise<SettledCall> {
    const { settled, runKey, tool } = await this.#ledger.settle(call);
    if (settled.first) {
      const { session, callKey } = call;
      this.#notices.tell({ type: 'call settled', session, runKey, callKey, tool, failed: settled.failed });
    }
    return settled;
  }

  recordCallFailure(call: Parameters<Store['recordCallFailure']>[0]): Promise<number> {
    const { session, callKey: key, error, counts = true, attempt } = call;
    return recordFailure(this.#database, { session, key, error, counts, attempt });
  }

  recordOnce(call: { session: string; callKey: string; key: string; value: unknown }): Promise<unknown> {
    return recordOnce(this.#database, call);
  }

  askOnce(call: Parameters<Store['askOnce']>[0]): Promise<unknown> {
    return askOnce(this.#database, call);
  }

  async settleStep(step: SettleStep): Promise<SettledStep> {
    const { settled, appended, calls, news } = await settleStep(this.#database, step);
    const { session, runKey } = step;
    for (const [callKey, tool, failed] of calls) {
      this.#notices.tell({ type: 'call settled', session, runKey, callKey, tool, failed });
    }
    this.tellJobs(session, news);
    if (appended) this.#notices.tell({ type: 'appended', session, seq: settled.seq });
    return settled;
  }

  keepMessages(keep: Omit<KeepMessagesInput, 'v'>): Promise<KeptMessage[]> {
    return keepMessages(this.#database, keep);
  }

  uploadMessage(upload: UploadMessage): Promise<{ digest: string; bytes: number }> {
    return uploadMessage(this.#database, upload);
  }

  forgetUpload(names: SessionNames, messageId: string): Promise<void> {
    return forgetUpload(this.#database, names, messageId);
  }

  readInbox(names: SessionNames): Promise<InboxRow[]> {
    return readInbox(this.#database, names);
  }

  findWaiting(names: SessionNames, invocationId: string): Promise<InboxRow | undefined> {
    return findWaiting(this.#database, names, invocationId);
  }

  findSession(
    names: SessionNames,
  ): Promise<{ session: string; seq: number; lastAgent: string | undefined } | undefined> {
    return findSession(this.#database, names);
  }

  newestFence(names: SessionNames): Promise<ChainFence | undefined> {
    return newestFence(this.#database, names);
  }

  findInvocation(names: SessionNames, invocationId: string): Promise<RecordedInvocation | undefined> {
    return findInvocation(this.#database, names, invocationId);
  }

  readEvents(read: ReadEvents): Promise<StoredEvent[]> {
    return readEvents(this.#database, read);
  }

  readOnce(call: { session: string; callKey: string }): Promise<Record<string, unknown>> {
    return readOnce(this.#database, call);
  }

  findPlannedCall(call: { session: string; callKey: string }): Promise<CallAsPlanned | undefined> {
    return findPlannedCall(this.#database, call);
  }

  findCall(call: { session: string; callKey: string }): Promise<KnownCall | undefined> {
    return findCall(this.#database, call);
  }

  callArguments(call: { session: string; callKey: string }): Promise<Record<string, unknown> | undefined> {
    return callArguments(this.#database, call);
  }

  readReference(names: SessionNames, key: string): Promise<unknown> {
    return readReference(this.#database, names, key);
  }

  createSession(create: CreateSession): Promise<Session> {
    return createSession(this.#database, create);
  }

  getSession(get: GetSession): Promise<Session | undefined> {
    return getSession(this.#database, get);
  }

  listSessions(list: ListSessions): Promise<ListedSessions> {
    return listSessions(this.#database, list);
  }

  deleteSession(remove: DeleteSession): Promise<DeletedSession[]> {
    return deleteSession(this.#database, remove);
  }

  forksOf(names: SessionNames): Promise<SessionNames[]> {
    return forksOf(this.#database, names);
  }

  forkSession(fork: ForkSession): Promise<Session> {
    return forkSession(this.#database, fork);
  }

  async rewindSession(rewind: RewindSession): Promise<StoredEvent> {
    const { session, marker } = await rewindSession(this.#database, rewind);
    this.#notices.tell({ type: 'appended', session, seq: marker.seq });
    return marker;
  }

  async appendEvent(append: AppendEvent): Promise<StoredEvent> {
    const { session, appended } = await appendEvent(this.#database, append);
    this.#notices.tell({ type: 'appended', session, seq: appended.seq });
    return appended;
  }

  async prepareRetry(retry: RetryTurn): Promise<PreparedRetry> {
    const { prepared, session, seq } = await prepareRetry(this.#database, retry);
    this.#notices.tell({ type: 'appended', session, seq });
    return prepared;
  }

  sessionsIdleSince(
    app: string,
    before: number,
    limit: number,
    after?: SessionPlace,
  ): Promise<IdleSession[]> {
    return sessionsIdleSince(this.#database, app, before, limit, after);
  }

  limitModel(limit: Parameters<LimitStore['limitModel']>[0]): Promise<number> {
    return limitModel(this.#database, limit);
  }

  modelAnswered(key: string): Promise<void> {
    return modelAnswered(this.#database, key);
  }

  takeTurnSlot(take: Parameters<LimitStore['takeTurnSlot']>[0]): Promise<TurnSlot> {
    return takeTurnSlot(this.#database, take);
  }

  freeTurnSlot(free: SessionNames & { invocationId: string }): Promise<void> {
    return freeTurnSlot(this.#database, free);
  }

  readAudit(session: string): Promise<AuditRow[]> {
    return readAudit(this.#database, session);
  }

  get listens(): boolean {
    return this.socket !== undefined || (this.#notices.exchange?.listens ?? false);
  }

  tell(notice: LiveNotice): void {
    this.#notices.tell(notice);
  }

  watch(session: string, listener: (notice: StoreNotice) => void): () => void {
    return this.#notices.watch(session, listener);
  }

  watchTurns(names: SessionNames, listener: () => void): () => void {
    return this.#notices.watchTurns(names, listener);
  }

  onNotice(listener: (notice: StoreNotice) => void): () => void {
    return this.#notices.listen(listener);
  }

  /**
   * Tells the listeners of this process what another process's store has told: a process that has joined an embedded
   * store sends what its `onNotice` says to the owner, whose followers hear of it in this way. One direction only:
   * `onNotice` says it again.
   */
  hear(notice: StoreNotice): void {
    this.#notices.hear(notice);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    try {
      await this.#notices.exchange?.close();
      await this.#database.close();
    } finally {
      await this.#onClose();
    }
  }
}

/** A turn's first event says whose it is: followers who wait for the session don't know its id. */
function namesOf({ identity }: OpenStep): { names?: SessionNames } {
  if (identity === undefined) return {};
  const { app, userId, sessionId } = identity;
  return { names: { app, userId, sessionId } };
}
