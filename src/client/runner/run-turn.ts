import type { Content } from '../../events/content.ts';
import { createEvent, type Event } from '../../events/event.ts';
import type { TurnError, TurnRunConfig } from '../../protocol/turn.ts';
import type { PartialText, SessionNames, StoredEvent } from '../../store/store.ts';
import { SessionNotFound } from '../../store/store-errors.ts';
import { FollowerTooSlow, InvalidTurn } from '../client-errors.ts';
import type { HoldfastApi } from '../holdfast-api.ts';
import type { TurnHandle } from '../turn-handle.ts';
import type { Served, SessionAccess } from './session-access.ts';

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

/** Sends a message and yields its turn's events, in ADK's way. */
export async function* runTurn(
  { access, served, agent }: Runs,
  { session, message, stateDelta, runConfig, signal }: TurnOptions,
): AsyncGenerator<Event, void, undefined> {
  const { api, lost, release } = await access.hold(served?.());
  let turn: TurnHandle | undefined;
  let hasEnded = false;
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
    const interruption = new Interruption(api, session, turn, signal);
    const stop = signal && lost ? AbortSignal.any([signal, lost]) : (signal ?? lost);
    let saysError = false;
    for await (const event of eventsOf(turn, runConfig, stop)) {
      if (signal?.aborted) break;
      saysError ||= event.errorCode !== undefined;
      yield event;
    }
    if (lost?.aborted) throw lost.reason;
    if (signal?.aborted) {
      await interruption.sent;
      return;
    }
    const { status, error } = await turn.result(lost ? { signal: lost } : {});
    hasEnded = true;
    interruption.forget();
    // A run that could not begin has left no event.
    if (status === 'failed' && !saysError) yield failureEvent(turn, agent, error);
  } finally {
    if (turn === undefined || hasEnded || lost?.aborted) release();
    else void leftAlone(turn, release);
  }
}

/** A turn that nobody reads any more goes on, and needs its worker until its end. */
async function leftAlone(turn: TurnHandle, release: () => void): Promise<void> {
  // What it came to is for those who read its session.
  await turn.result().catch(() => undefined);
  release();
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

async function* eventsOf(
  turn: TurnHandle,
  { streamingMode }: TurnRunConfig,
  signal: AbortSignal | undefined,
): AsyncGenerator<Event, void, undefined> {
  let after: number | undefined;
  const options = () => ({
    ...(after === undefined ? {} : { after }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (streamingMode !== 'sse') {
    for await (const stored of turn.events(options())) if (isAgents(stored)) yield stored.event;
    return;
  }
  for (;;) {
    try {
      for await (const item of turn.stream(options())) {
        if (item.type === 'text') yield partialEvent(turn, item);
        if (item.type !== 'event') continue;
        after = item.seq;
        if (isAgents(item)) yield item.event;
      }
      return;
    } catch (error) {
      // What was told meanwhile is in the whole event.
      if (!(error instanceof FollowerTooSlow)) throw error;
      after = error.after;
    }
  }
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
