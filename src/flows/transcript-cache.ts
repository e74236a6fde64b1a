import { LRUCache } from 'lru-cache';
import type { StoredEvent } from '../contract/events.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { StoreBehindHistory } from '../store/store-errors.ts';
import type { OpenStep } from '../store/turns/step-store.ts';
import { type Transcript, TranscriptLog } from './transcript.ts';

const DEFAULT_BYTES = 64 * 1024 * 1024;

interface Kept {
  log: TranscriptLog;
  bytes: number;
  names: string;
  app: string;
}

/** The cache's part of a session, held until the store has answered, also if the cache drops it meanwhile. */
export interface KnownTranscript {
  /** Arguments for `openStep`: the session, and the events that aren't needed. */
  readonly ask: Pick<OpenStep, 'session' | 'knownSeq'>;
  readonly log: TranscriptLog;
  readonly seq: number;
  /** The names of the session; undefined where nothing is known. */
  readonly app?: string;
}

/** Of `OpenedStep`. */
interface Opened {
  session: string;
  names: SessionNames;
  seq: number;
  events: readonly StoredEvent[];
}

/**
 * Transcripts that this worker has read, so that a step reads only what is new, and the names of their sessions, so that
 * a turn's first step does too. Everything is correct without it, and with several steps of a session at once.
 */
export class TranscriptCache {
  readonly #kept: LRUCache<string, Kept>;
  readonly #sessions = new Map<string, string>();

  /**
   * @param maxBytes of memory that it takes, as an estimate of the texts' UTF-8 bytes and a flat rate for each object,
   *   field and text. The session read longest ago goes first. Defaults to 64 MiB.
   */
  constructor(maxBytes: number = DEFAULT_BYTES) {
    this.#kept = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => bytes,
      disposeAfter: ({ names }, session) => {
        if (!this.#kept.has(session) && this.#sessions.get(names) === session) this.#sessions.delete(names);
      },
    });
  }

  /**
   * The events that a step needn't read again. A first step knows only names, so their session is a guess. It reads one known event
   * again, because a store that was restored from a backup may have gone on differently.
   */
  known(step: Pick<OpenStep, 'session' | 'identity'>): KnownTranscript {
    const session = step.session ?? (step.identity && this.#sessions.get(namesKey(step.identity)));
    const kept = session === undefined ? undefined : this.#kept.get(session);
    if (session === undefined || kept === undefined) return { ask: {}, log: new TranscriptLog(), seq: 0 };
    const { log, app } = kept;
    const { seq } = log;
    const knownSeq = step.session === undefined ? Math.max(seq - 1, 0) : seq;
    return { ask: { session, knownSeq }, log, seq, app };
  }

  /**
   * The transcript of a step that was opened by what `known` asked for, and remembers it.
   *
   * @param readAll reads all events of the session: called where the known events and those of the store don't fit.
   * @throws StoreBehindHistory where these don't reach the opened step either.
   */
  async read(
    known: KnownTranscript,
    { session, names, seq, events }: Opened,
    readAll: () => Promise<readonly StoredEvent[]>,
  ): Promise<Transcript> {
    const isSame = known.ask.session === session;
    let log = isSame ? known.log : (this.#kept.get(session)?.log ?? new TranscriptLog());
    const isShorter = isSame && seq < known.seq;
    if (isShorter || !log.append(events) || log.seq < seq) {
      log = new TranscriptLog();
      if (!log.append(await readAll()) || log.seq < seq) {
        this.#kept.delete(session);
        throw new StoreBehindHistory(
          `the store has events up to seq ${log.seq}, the step was opened at ${seq}`,
        );
      }
    }
    this.#keep(session, names, log);
    return log.at(seq);
  }

  /**
   * The transcript as it is by now, for who opens no step, and remembers it.
   *
   * @param readAfter reads all events after a seq: those that aren't known.
   * @throws StoreBehindHistory where the store has another history than was known.
   */
  async current(
    session: string,
    names: SessionNames,
    readAfter: (seq: number) => Promise<readonly StoredEvent[]>,
  ): Promise<Transcript> {
    let log = this.#kept.get(session)?.log ?? new TranscriptLog();
    if (!log.append(await readAfter(log.seq))) {
      log = new TranscriptLog();
      if (!log.append(await readAfter(0))) {
        throw new StoreBehindHistory('the events of the session have gaps');
      }
    }
    this.#keep(session, names, log);
    return log.at(log.seq);
  }

  #keep(session: string, { app, ...rest }: SessionNames, log: TranscriptLog): void {
    const names = namesKey({ app, ...rest });
    const weigh = () => this.#kept.set(session, { log, bytes: log.bytes + 2 * names.length, names, app });
    weigh();
    if (this.#kept.has(session)) this.#sessions.set(names, session);
    log.onDerived(() => {
      if (this.#kept.peek(session)?.log === log) weigh();
    });
  }
}

function namesKey({ app, userId, sessionId }: SessionNames): string {
  return JSON.stringify([app, userId, sessionId]);
}
