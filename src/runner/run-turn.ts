import { agentsOfTree } from '../agents/agents-of-tree.ts';
import type { BaseAgent } from '../agents/base-agent.ts';
import { isLlmAgent } from '../agents/llm-agent.ts';
import { FollowerTooSlow, InvalidTurn } from '../client/client-errors.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import { replyParts } from '../client/messages/reply-parts.ts';
import type { FollowedEvent } from '../client/stream/stream-item.ts';
import { whenAtRest } from '../client/turns/turn-at-rest.ts';
import type { TurnHandle } from '../client/turns/turn-handle.ts';
import type { EventKind, StoredEvent } from '../contract/events.ts';
import type { Content } from '../events/content.ts';
import { createEvent, type Event } from '../events/event.ts';
import { defined } from '../protocol/json.ts';
import type { TurnRunConfig } from '../protocol/run-terms.ts';
import type { TurnError, TurnStatus } from '../protocol/turn.ts';
import type { PartialText } from '../store/live/live-feed.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { SessionNotFound } from '../store/store-errors.ts';
import { Rest } from './rest.ts';
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
  /** The root of the tree that answers. */
  rootAgent: BaseAgent;
}

/**
 * Sends a message and yields its turn's events, in ADK's way. Of a turn that waits for people, or for jobs of long-running calls, and of
 * which nothing runs, they end after its requests and calls; a message that answers these goes on with it. The events of a message after
 * such a turn begin with one that says so, and go on once that turn has its answers.
 */
export async function* runTurn(
  { access, served, rootAgent }: Runs,
  { session, message, stateDelta, runConfig, signal }: TurnOptions,
): AsyncGenerator<Event, void, undefined> {
  const { api, lost, release, keepQueue } = await access.hold(served?.());
  const isSse = runConfig.streamingMode === 'sse';
  // Partial events of agents' own code come in any mode, as in ADK.
  const isTold = (agent: string) => isSse || !isLlmAgent(rootAgent.findAgent(agent));
  const streams = isSse || !agentsOfTree(rootAgent).every(isLlmAgent);
  let rest: Rest | undefined;
  let turn: TurnHandle | undefined;
  let isLeft = true;
  try {
    const found = await api.sessions.get({ ...session, numRecentEvents: 0 });
    if (signal?.aborted) return;
    if (found === undefined) throw new SessionNotFound(`Session not found: ${session.sessionId}`);
    if (message === undefined) return;
    if (!message.parts?.length) throw new InvalidTurn('No parts in the newMessage.');
    const replied = await repliedIn(api, session, message);
    turn = await api.sendMessage({
      ...session,
      message,
      rootAgent: rootAgent.name,
      ...defined({ stateDelta }),
      runConfig,
    });
    // The turn of a message of its own is new: no one else knows its id.
    const answers = turn.disposition === 'attached';
    const interruption = new Interruption(api, session, turn, signal);
    const mayBeBehind = turn.disposition === 'sent';
    const answered = answers ? await answeredBy(turn, message) : new Set<string>();
    const { invocationId } = turn;
    const watched = { session, invocationId, answered, replied, orForJobs: true };
    rest = new Rest(api, { ...watched, mayBeBehind });
    if (answers || mayBeBehind) rest.watch();
    let saysError = false;
    let last = answers ? found.seq : undefined;
    for (;;) {
      const ends = [signal, lost, rest.reached].filter((each) => each !== undefined);
      for await (const told of eventsOf(turn, streams && isTold, AbortSignal.any(ends), last)) {
        if (signal?.aborted) break;
        // Earlier requests of calls' agents are told again while they are pending.
        if (told.isBelow && answers && !(await isStillAsked(api, told.event, replied))) continue;
        last = told.seq ?? last;
        rest.passed(told);
        if (told.event === undefined) continue;
        saysError ||= told.event.errorCode !== undefined;
        yield told.event;
      }
      if (lost?.aborted) throw lost.reason;
      if (signal?.aborted) {
        await interruption.sent;
        return;
      }
      if (!rest.reached.aborted) break;
      const { before } = rest;
      if (before === undefined) {
        isLeft = false;
        keepQueue?.();
        interruption.forget();
        yield* eventsAfter(api, session, turn, last);
        return;
      }
      yield queuedEvent(turn, rootAgent.name, before);
      // Once it is answered it may come to rest itself.
      rest = new Rest(api, watched);
      rest.watch();
    }
    isLeft = false;
    const { status, error } = await turn.result(lost ? { signal: lost } : {});
    interruption.forget();
    // A run that could not begin has left no event.
    if (status === 'failed' && !saysError) yield failureEvent(turn, rootAgent.name, error);
  } finally {
    rest?.ignore();
    if (turn === undefined || !isLeft || lost?.aborted) release();
    else void leftAlone({ api, release, keepQueue }, session, turn);
  }
}

/** A turn that nobody reads any more goes on, and needs its worker until its end, or until others have to go on with it. */
async function leftAlone(
  { api, release, keepQueue }: OpenAccess & { release: () => void },
  session: SessionNames,
  turn: TurnHandle,
): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const { invocationId, disposition } = turn;
  const watched = { session, invocationId, mayBeBehind: disposition === 'sent', orForJobs: true };
  const atRest = whenAtRest(api, watched, signal).then(keepQueue);
  atRest.catch(ignored);
  // Its outcome is for readers of its session.
  await Promise.race([turn.result({ signal }), atRest]).catch(ignored);
  stop.abort();
  release();
}

function ignored(): void {}

/**
 * Of what a message answers, what the turn may still be told to wait for: requests whose answers no worker has confirmed, and calls
 * whose jobs have ended by it, since their turn hears of that later.
 */
async function answeredBy(turn: TurnHandle, message: Content): Promise<ReadonlySet<string>> {
  const replies = new Set(replyParts(message).map(({ index }) => index));
  const isPending = replies.size > 0 && !(await turn.receipt()).confirmed;
  const ids = (message.parts ?? []).flatMap(({ functionResponse }, index) => {
    const { id, willContinue } = functionResponse ?? {};
    return id === undefined || (replies.has(index) ? !isPending : willContinue) ? [] : [id];
  });
  return new Set(ids);
}

/** Requests and calls that a message answers, by the ids that it names, with the earlier votes. */
async function repliedIn(
  api: HoldfastApi,
  session: SessionNames,
  { parts = [] }: Content,
): Promise<ReadonlyMap<string, number>> {
  const ids = parts.flatMap(({ functionResponse: { id, willContinue } = {} }) =>
    id === undefined || willContinue ? [] : [id],
  );
  if (ids.length === 0) return new Map();
  const requests = await api.approvals.list(session);
  return new Map(
    ids.map((id) => [
      id,
      requests.find(({ requestId, callId }) => requestId === id || callId === id)?.votes.length ?? 0,
    ]),
  );
}

async function isStillAsked(
  api: HoldfastApi,
  event: Event | undefined,
  replied: ReadonlyMap<string, number>,
): Promise<boolean> {
  for (const { functionCall } of event?.content?.parts ?? []) {
    const requestId = functionCall?.id;
    if (requestId === undefined || replied.has(requestId)) continue;
    if ((await api.approvals.get({ requestId }))?.status === 'pending') return true;
  }
  return false;
}

/** Items that came while the turn came to rest. */
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
      // Waiting readers learn of it.
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
  /** Of the agent of a call: a request, as people have to answer it. */
  isBelow?: true;
}

async function* eventsOf(
  turn: TurnHandle,
  isTold: false | ((agent: string) => boolean),
  signal: AbortSignal,
  first: number | undefined,
): AsyncGenerator<ToldEvent, void, undefined> {
  let after: number | string | undefined = first;
  const options = () => ({ ...defined({ after }), signal });
  if (!isTold) {
    for await (const stored of turn.events(options())) yield* toldEvents(stored);
    return;
  }
  for (;;) {
    try {
      for await (const item of turn.stream(options())) {
        if (item.type === 'text' && item.holdfast === undefined && isTold(item.agent))
          yield { event: partialEvent(turn, item) };
        if (item.type !== 'event') continue;
        after = item.place ?? item.seq;
        yield* toldEvents(item);
      }
      return;
    } catch (error) {
      // The whole event has the text that was told meanwhile.
      if (!(error instanceof FollowerTooSlow)) throw error;
      after = error.after;
    }
  }
}

/** Events of calls' agents are not among those of ADK's runners, but readers have to see their requests. */
function toldEvents(followed: FollowedEvent): ToldEvent[] {
  const { seq, kind, event, holdfast } = followed;
  if (holdfast !== undefined) return kind === 'request' ? [{ kind, event, isBelow: true }] : [];
  return [isAgents(followed) ? { seq, kind, event } : { seq, kind }];
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

/** Not of the session, as partial events aren't. */
function queuedEvent(
  { invocationId }: TurnHandle,
  author: string,
  { invocationId: behind, status }: TurnStatus,
): Event {
  const waitsFor = status === 'waiting_job' ? 'a job' : 'a person';
  return createEvent({
    invocationId,
    author,
    partial: true,
    content: {
      role: 'model',
      parts: [{ text: `This message is queued: the turn before it waits for ${waitsFor}.` }],
    },
    customMetadata: { holdfast: { type: 'queued', behind, status } },
  });
}

function failureEvent({ invocationId }: TurnHandle, author: string, error: TurnError | undefined): Event {
  const { code = 'UNKNOWN_ERROR', message = 'the turn has failed' } = error ?? {};
  return createEvent({ invocationId, author, errorCode: code, errorMessage: message });
}
