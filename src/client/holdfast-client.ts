import { randomUUID } from 'node:crypto';
import type { ArtifactBytes } from '../artifacts/artifact-bytes.ts';
import type { ContextArtifacts } from '../artifacts/context-artifacts.ts';
import { SavedArtifacts } from '../artifacts/saved-artifacts.ts';
import type { APPROVALS } from '../contract/approvals.ts';
import type { CORPORA } from '../contract/corpora.ts';
import type { CREDENTIALS } from '../contract/credentials.ts';
import type { JOBS } from '../contract/jobs.ts';
import type { MEMORIES } from '../contract/memories.ts';
import type { Handlers, OperationsOf } from '../contract/operation.ts';
import type { SESSIONS } from '../contract/sessions.ts';
import type { STEERING, TURNS } from '../contract/turns.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { approvalHandlers } from './approvals/approval-handlers.ts';
import { Artifacts } from './artifacts/artifacts.ts';
import { type DescribedArtifacts, StoredBytes, storedArtifacts } from './artifacts/stored-artifacts.ts';
import { direct } from './call.ts';
import { type ClientContext, contextOf, type HoldfastClientOptions } from './client-context.ts';
import { storedCorpora } from './corpora/stored-corpora.ts';
import { credentialHandlers } from './credentials/credential-handlers.ts';
import { HoldfastApi, type SentMessage } from './holdfast-api.ts';
import { jobHandlers } from './jobs/job-handlers.ts';
import { type MemoryService, memoryServiceOver, storedMemories } from './memories/stored-memories.ts';
import { deliverUploaded } from './messages/deliver-uploaded.ts';
import { checkedMessage, type OutgoingMessage } from './messages/outgoing-message.ts';
import { type OutgoingTurn, outgoingTurn } from './messages/outgoing-turn.ts';
import { isRepliesOnly, isResponsesOnly } from './messages/reply-parts.ts';
import { sendReplies } from './messages/send-replies.ts';
import {
  hasState,
  type RespondedTurn,
  recordLargeResponses,
  sendResponses,
  toldTurn,
} from './messages/send-responses.ts';
import { ClientSessions, sessionHandlers } from './sessions/client-sessions.ts';
import { storeOf } from './stored-context.ts';
import type { FollowOptions } from './stream/follow-events.ts';
import { followSession, streamSession } from './stream/session-stream.ts';
import type { FollowedEvent, StreamItem } from './stream/stream-item.ts';
import { placeOf } from './stream/stream-place.ts';
import { withOutageTold } from './temporal-outage.ts';
import { findTurn } from './turns/find-turn.ts';
import { steeringHandlers } from './turns/steering.ts';
import { type TurnHandle, turnHandle } from './turns/turn-handle.ts';
import { sessionNamesOf, turnNamesOf } from './turns/turn-names.ts';
import { waitingTurn } from './turns/waiting-turn.ts';

/** Performs every operation that has one answer: a noun that is forgotten does not compile. */
const HANDLERS: Handlers<
  | OperationsOf<typeof APPROVALS>
  | OperationsOf<typeof CORPORA>
  | OperationsOf<typeof CREDENTIALS>
  | OperationsOf<typeof JOBS>
  | OperationsOf<typeof MEMORIES>
  | OperationsOf<typeof SESSIONS>
  | OperationsOf<typeof STEERING & typeof TURNS>
  | DescribedArtifacts,
  ClientContext
> = {
  ...{ ...approvalHandlers, ...credentialHandlers, ...jobHandlers, ...sessionHandlers },
  ...{ ...steeringHandlers, ...storedArtifacts, ...storedCorpora, ...storedMemories },
};

/**
 * Sends messages, waits for their turns, follows and steers them, and manages sessions.
 *
 * @example
 * const client = new HoldfastClient({ temporal: { connection }, store });
 * const turn = await client.sendMessage({ app: 'shop', userId: 'ada', sessionId: 's1', message: 'Where is my order?' });
 * const { status, text } = await turn.result();
 */
export class HoldfastClient extends HoldfastApi {
  readonly #context: ClientContext;
  override readonly sessions: ClientSessions;
  override readonly artifacts: Artifacts;

  constructor(options: HoldfastClientOptions) {
    const context = contextOf(options);
    super(direct(HANDLERS, context));
    this.#context = context;
    this.sessions = new ClientSessions(this.call, context);
    this.artifacts = new Artifacts(this.call, new StoredBytes(() => this.#artifacts()));
  }

  /** Artifacts of a session and its user, by ADK's methods. @internal */
  artifactService({ app, userId, sessionId }: SessionNames): ContextArtifacts {
    const key = `client/${randomUUID()}`;
    return SavedArtifacts.atOnce({ ...this.#artifacts(), app }, { app, userId, sessionId }, key);
  }

  #artifacts() {
    return { store: storeOf(this.#context, 'artifacts'), bytes: this.#context.artifacts as ArtifactBytes };
  }

  /** Memories by ADK's methods, as an app has set its memory. @internal */
  memoryService(settings: MemoryService) {
    return memoryServiceOver(storeOf(this.#context, 'memories'), settings);
  }

  /**
   * Sends a message to a session: starts its turn, attaches to it where this message id is under way, or gives it to the run that
   * answers another one. The message is kept when this returns, also with no worker up, and is answered once, for every end of the
   * running turn; `receipt()` of the handle says what became of it.
   *
   * A message of nothing but answers to requests, in ADK's form, begins no turn: it goes to the one that waits, whose handle this
   * returns. `receipt()` of the handle says what became of each answer. So it is with responses to calls of the turn that runs which
   * wait for their jobs: each ends its call's job, or with `willContinue` is an update of it. A response to a job whose turn has ended
   * begins a turn, and ends the job.
   *
   * @throws MessageTooLarge over 64 KiB of JSON without a store.
   * @throws MessageRejected by the policy `reject`, while the session answers another message.
   * @throws NoAnswer by the policy `reject`, where another message is under way and no worker answers.
   * @throws InvalidTurn for names that are empty or no text, for a message that is none, and for what is over a bound of
   * {@link OutgoingMessage}: nothing was sent.
   * @throws RequestNotFound, RequestNotPending, AmbiguousRequest, DecisionRefused where it answers requests.
   * @example
   * const turn = await client.sendMessage({ ...names, message: 'and now to Bergen', policy: 'interrupt' });
   */
  async sendMessage(given: OutgoingMessage): Promise<TurnHandle> {
    return await withOutageTold(() => this.#send(given));
  }

  async #send(given: OutgoingMessage): Promise<TurnHandle> {
    const message = checkedMessage(given);
    const names = turnNamesOf(message, message.messageId ?? randomUUID(), 'sendMessage');
    const turn = await outgoingTurn(this.#context, names, message);
    if (isRepliesOnly(turn.message?.message)) return await answeredTurn(this.#context, turn);
    const responded = await respondedTurn(this.#context, turn, message);
    if (responded !== undefined) return responded;
    return turnHandle(this.#context, { ...turn, ...(await deliverUploaded(this.#context, turn)) });
  }

  /**
   * The turn of a message that was sent before, by any client; undefined if the message isn't known. Sends nothing. For a turn that
   * was retried, the newest one. Without a store it is found as long as its run is the session's newest.
   *
   * @throws InvalidTurn
   * @example
   * const turn = await client.turn({ ...names, messageId: 'm1' });
   * if (turn !== undefined) console.log((await turn.result()).text);
   */
  async turn(message: SentMessage): Promise<TurnHandle | undefined> {
    const names = turnNamesOf(message, message.messageId, 'turn');
    const found = await withOutageTold(() => findTurn(this.#context, names));
    return found && turnHandle(this.#context, found);
  }

  /**
   * The turn that a session runs now, whoever has sent its message; undefined if none runs. Sends nothing.
   *
   * @throws InvalidTurn; NoAnswer if no worker answers in time.
   * @example
   * const result = await (await client.runningTurn(names))?.result();
   */
  async runningTurn(names: SessionNames): Promise<TurnHandle | undefined> {
    return await withOutageTold(async () => {
      const invocationId = (await this.status(names))?.invocationId;
      if (invocationId === undefined) return undefined;
      const named = turnNamesOf(names, invocationId, 'runningTurn');
      return turnHandle(this.#context, await waitingTurn(this.#context, named, invocationId));
    });
  }

  /**
   * A session's events in order, without gaps or repeats, those to come included, until `signal` is aborted or the reader
   * stops. The session need not be there yet. A reader that went away goes on after the last seq that it has seen; no turn
   * waits for it. Where the session is deleted and made again under its names, it goes on with the new one, whose `seq`
   * begins at 1 again. While the store can't be reached, it waits.
   *
   * The sessions of agents that its calls run are followed with it, at any depth, unless `children` is false: their events are
   * marked by `holdfast`, and each comes once, between the event that asks for the agent's call and the one that has its response.
   * A reader goes on `after` the `place` of the last event that it has seen, which stands where the event's `seq` doesn't say all.
   *
   * @throws StoreNeeded, InvalidTurn
   * @example
   * for await (const { seq, event } of client.follow(names, { after: 41 })) console.log(seq, event);
   */
  follow(names: SessionNames, options: FollowOptions = {}): AsyncIterable<FollowedEvent> {
    const store = storeOf(this.#context, 'follow');
    const { after, ...rest } = options;
    return followSession(store, sessionNamesOf(names, 'follow'), {
      ...rest,
      after: placeOf(after, 'follow'),
    });
  }

  /**
   * As {@link follow}, and between the events what is never stored: text of the answer that is being written, text that no
   * longer counts (a failed model call is made again), calls that begin and settle. Text comes where the turn's
   * `streamingMode` is `'sse'` and its agent isn't `sensitive`, batched to at most 20 times a second; what this misses of it
   * (`index` has a gap) the step's event has. No text of a step comes after its event, none of an attempt after a later
   * one's. From other processes it comes where the store listens. A reader may leave 2,000 items, or 256 KiB of text,
   * unread; no turn waits for it.
   *
   * @throws StoreNeeded, InvalidTurn
   * @throws FollowerTooSlow where the reader has left more unread; its `after` is where to resume.
   * @example
   * for await (const item of client.stream(names)) {
   *   if (item.type === 'text') process.stdout.write(item.text);
   * }
   */
  stream(names: SessionNames, options: FollowOptions = {}): AsyncIterable<StreamItem> {
    const store = storeOf(this.#context, 'stream');
    const { after, ...rest } = options;
    return streamSession(store, sessionNamesOf(names, 'stream'), {
      ...rest,
      after: placeOf(after, 'stream'),
    });
  }
}

/** Undefined for a message that begins a turn as any other does. */
async function respondedTurn(
  context: ClientContext,
  outgoing: OutgoingTurn,
  { message: given, stateDelta }: Pick<OutgoingMessage, 'message' | 'stateDelta'>,
): Promise<TurnHandle | undefined> {
  const { message, stored } = outgoing.message ?? {};
  const told = await toldTurn(context, outgoing, { message: message ?? given, stateDelta });
  const sent = async (): Promise<RespondedTurn | undefined> => {
    if (isResponsesOnly(message)) return await sendResponses(context, outgoing);
    if (stored === undefined || typeof given === 'string') return undefined;
    return await recordLargeResponses(context, outgoing, given, hasState(stateDelta));
  };
  const responded = told ?? (await sent());
  if (responded === undefined) return undefined;
  const { turn, receipt } = responded;
  const handle = turnHandle(context, turn);
  return receipt === undefined ? handle : { ...handle, receipt: async () => receipt };
}

async function answeredTurn(context: ClientContext, outgoing: OutgoingTurn): Promise<TurnHandle> {
  const { turn, receipt } = await sendReplies(context, outgoing);
  return { ...turnHandle(context, turn), receipt: async () => receipt };
}
