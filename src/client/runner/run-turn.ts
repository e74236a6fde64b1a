import type { Content } from '../../events/content.ts';
import { createEvent, type Event } from '../../events/event.ts';
import type { TurnError, TurnRunConfig } from '../../protocol/turn.ts';
import type { EventKind, PartialText, SessionNames, StoredEvent } from '../../store/store.ts';
import { SessionNotFound } from '../../store/store-errors.ts';
import { FollowerTooSlow, InvalidTurn } from '../client-errors.ts';
import type { HoldfastApi } from '../holdfast-api.ts';
import { isRepliesOnly, replyParts } from '../reply-parts.ts';
import { whenAtRest } from '../turn-at-rest.ts';
import type { TurnHandle } from '../turn-handle.ts';
import type { OpenAccess, Served, SessionAccess } from './session-access.ts';

export interface TurnOptions {
  session: SessionNames;
  message: Content | undefined;
  stateDelta: Record<string, unknown> | undefined;
  runConfig: TurnRunConfig;
  signal: AbortSignal | undefined;
}

interface Runs {
  access: SessionAccess;
  /** Left out where others run it. */
  served: (() => Served) | undefined;
  agent: string;
}

/**
 * Sends a message and yields its turn's events, in ADK's way. Of a turn that waits for people, and for nothing else, they end behind
 * its requests; a message that answers these goes on with it. Those of a message behind such a turn end at once: it is kept.
 */
export async function* runTurn(
  { access, served, agent }: Runs,
  { session, message, stateDelta, runConfig, signal }: TurnOptions,
): AsyncGenerator<Event, void, undefined> {
  const { api, lost, release, keepQueue } = await access.hold(served?.());
  const stopWatching = new AbortController();
  let turn: TurnHandle | undefined;
  let isLeft = true;
  try {
    const found = await api.sessions.get({ ...session, numRecentEvents: 0 });
    if (signal?.aborted) return;
    if (found === undefined) throw new SessionNotFound(`Session not found: ${session.sessionId}`);
    if (message === undefined) return;
    if (!message.parts?.length) throw new InvalidTurn('No parts in the newMessage.');
    turn = await api.sendMessage({
      ...session,
      message,
      agent,
      ...(stateDelta === undefined ? {} : { stateDelta }),
      runConfig,
    });
    const answers = isRepliesOnly(message);
    const interruption = new Interruption(api, session, turn, signal);
    const atRest = new AbortController();
    const mayBeBehind = turn.disposition === 'sent';
    const answered = await unconfirmed(turn, message);
    const watched = { session, invocationId: turn.invocationId, answered, mayBeBehind };
    let isWatched = false;
    const watch = () => {
      if (isWatched) return;
      isWatched = true;
      whenAtRest(api, watched, stopWatching.signal).then(() => atRest.abort(), ignored);
    };
    if (answers || mayBeBehind) watch();
    const ends = [signal, lost, atRest.signal].filter((each) => each !== undefined);
    let saysError = false;
    let last = answers ? found.seq : undefined;
    for await (const told of eventsOf(turn, runConfig, AbortSignal.any(ends), last)) {
      if (signal?.aborted) break;
      last = told.seq ?? last;
      if (told.kind === 'request') watch();
      if (told.event === undefined) continue;
      saysError ||= told.event.errorCode !== undefined;
      yield told.event;
    }
    if (lost?.aborted) throw lost.reason;
    if (signal?.aborted) {
      await interruption.sent;
      return;
    }
    isLeft = false;
    if (atRest.signal.aborted) {
      keepQueue?.();
      interruption.forget();
      yield* eventsAfter(api, session, turn, last);
      return;
    }
    const { status, error } = await turn.result(lost ? { signal: lost } : {});
    interruption.forget();
    // A run that could not begin has left no event.
    if (status === 'failed' && !saysError) yield failureEvent(turn, agent, error);
  } finally {
    stopWatching.abort();
    if (turn === undefined || !isLeft || lost?.aborted) release();
    else void leftAlone({ api, release, keepQueue }, session, turn);
  }
}

/** A turn that nobody reads any more goes on, and needs its worker until its end, or until only people can go on with it. */
async function leftAlone(
  { api, release, keepQueue }: OpenAccess & { release: () => void },
  session: SessionNames,
  turn: TurnHandle,
): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const { invocationId, disposition } = turn;
  const watched = { session, invocationId, mayBeBehind: disposition === 'sent' };
  const atRest = whenAtRest(api, watched, signal).then(keepQueue);
  atRest.catch(ignored);
  // What it came to is for those who read its session.
  await Promise.race([turn.result({ signal }), atRest]).catch(ignored);
  stop.abort();
  release();
}

function ignored(): void {}

/** The requests whose answers no worker has confirmed. */
async function unconfirmed(turn: TurnHandle, message: Content): Promise<ReadonlySet<string>> {
  if (!isRepliesOnly(message) || (await turn.receipt()).confirmed) return new Set();
  return new Set(replyParts(message).flatMap(({ id }) => id ?? []));
}

/** What came while the turn came to rest. */
async function* eventsAfter(
  api: HoldfastApi,
  session: SessionNames,
  { invocationId }: TurnHandle,
  after = 0,
): AsyncGenerator<Event, void, undefined> {
  const { events = [] } = (await api.sessions.get({ ...session, after })) ?? {};
  for (const stored of events) {
    if (stored.event.invocationId === invocationId && isAgents(stored)) yield stored.event;
  }
}

/** Interrupts a turn once its signal is aborted, also when nobody reads it any more. */
class Interruption {
  readonly #signal: AbortSignal | undefined;
  readonly #interrupt: () => void;
  /** Once the signal was aborted: the order is kept. */
  sent: Promise<unknown> = Promise.resolve();

  constructor(api: HoldfastApi, session: SessionNames, turn: TurnHandle, signal: AbortSignal | undefined) {
    const { invocationId } = turn;
    this.#signal = signal;
    this.#interrupt = () => {
      this.sent = api.interrupt(session, { invocationId, reason: 'aborted by its caller' });
      // Who waits for it learns of it.
      this.sent.catch(() => undefined);
    };
    if (signal?.aborted) this.#interrupt();
    else signal?.addEventListener('abort', this.#interrupt, { once: true });
  }

  forget(): void {
    this.#signal?.removeEventListener('abort', this.#interrupt);
  }
}

/** An event, for its reader where it has one, with its place where it is stored. */
interface ToldEvent {
  event?: Event;
  seq?: number;
  kind?: EventKind;
}

async function* eventsOf(
  turn: TurnHandle,
  { streamingMode }: TurnRunConfig,
  signal: AbortSignal,
  first: number | undefined,
): AsyncGenerator<ToldEvent, void, undefined> {
  let after = first;
  const options = () => ({ ...(after === undefined ? {} : { after }), signal });
  if (streamingMode !== 'sse') {
    for await (const stored of turn.events(options())) yield toldEvent(stored);
    return;
  }
  for (;;) {
    try {
      for await (const item of turn.stream(options())) {
        if (item.type === 'text') yield { event: partialEvent(turn, item) };
        if (item.type !== 'event') continue;
        after = item.seq;
        yield toldEvent(item);
      }
      return;
    } catch (error) {
      // What was told meanwhile is in the whole event.
      if (!(error instanceof FollowerTooSlow)) throw error;
      after = error.after;
    }
  }
}

function toldEvent(stored: StoredEvent): ToldEvent {
  const { seq, kind, event } = stored;
  return isAgents(stored) ? { seq, kind, event } : { seq, kind };
}

function isAgents({ kind }: StoredEvent): boolean {
  return kind !== 'message' && kind !== 'rewind';
}

function partialEvent(
  { invocationId }: TurnHandle,
  { agent, text, thought }: Omit<PartialText, 'session'>,
): Event {
  return createEvent({
    invocationId,
    author: agent,
    partial: true,
    content: { role: 'model', parts: [{ text, ...(thought ? { thought } : {}) }] },
  });
}

function failureEvent({ invocationId }: TurnHandle, author: string, error: TurnError | undefined): Event {
  const { code = 'UNKNOWN_ERROR', message = 'the turn has failed' } = error ?? {};
  return createEvent({ invocationId, author, errorCode: code, errorMessage: message });
}
