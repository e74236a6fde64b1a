import { CancellationScope, condition, log, scheduleActivity } from '@temporalio/workflow';
import { take } from '../../src/contract/check.ts';
import { jsonBytes } from '../../src/contract/json-bytes.ts';
import type { MessagePolicy } from '../../src/contract/messages.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import {
  isTraceparent,
  type MessageReceipt,
  MOST_QUEUED,
  MOST_QUEUED_BYTES,
  type SendMessage,
  sentDigest,
} from '../../src/protocol/message.ts';
import { KEEP_MESSAGES } from '../../src/protocol/names.ts';
import { PAYLOAD_LIMIT } from '../../src/protocol/sizes.ts';
import type {
  KeepMessagesInput,
  KeepMessagesResult,
  KeptMessage,
  MessageToKeep,
  WaitingMessage,
} from '../../src/protocol/step.ts';
import { excerpt } from '../../src/protocol/visible-text.ts';
import { keepMessagesOptions, turnPriority, usable } from '../activities.ts';

/** The messages that a chain carries from run to run. */
export interface MailboxState {
  queue: QueuedMessage[];
  /** Digests of the messages that this chain has answered, by invocation id; the newest ones. */
  ended: Record<string, string>;
  /** The newest notes for operators about messages that were not taken. */
  notes: string[];
  places: number;
}

/** The turn that answers the messages. */
export interface Recipient {
  app: string;
  userId: string;
  sessionId: string;
  startedAt(): number;
  /** The invocation that is under way, with its message's digest. */
  current(): { invocationId: string; digest: string | undefined } | undefined;
  /** A message wants the current invocation to end. */
  interrupt(): void;
}

interface Arriving {
  keep: MessageToKeep;
  policy: MessagePolicy;
  arrival: Pick<QueuedMessage, 'traceparent' | 'cameAt' | 'priority' | 'rootAgent'>;
  /** Its receipt, when the store has it. */
  receipt?: MessageReceipt;
}

const OTHER_CONTENT = 'this message id was used with other content';
const NOT_STORED = 'its content is said to be in the store, and is not: send it again with its content';
const MOST_ENDED = 256;
const MOST_NOTES = 5;

/** Messages that interrupt go before those that wait; after them come those that earlier chains had accepted. */
const URGENT = -1_000_000_000;
const EARLIER = -1_000_000;

/**
 * The messages of a session while a turn runs. One counts as accepted when its row is in the store: it outlives failure,
 * cancellation and termination of the workflow there.
 */
export class Mailbox {
  readonly state: MailboxState;
  readonly #recipient: Recipient;
  #arriving: Arriving[] = [];
  /** Notes on messages that were not taken, on their way to the store. */
  #rejected: MessageToKeep[] = [];
  #keeping = false;
  /** Places of messages that earlier chains had accepted, for those that are sent again meanwhile. */
  readonly #earlier = new Map<string, number>();
  /** Receipts of messages that a signal brought in vain, by id, content and policy, until a client asks. */
  readonly #refusals = new Map<string, MessageReceipt>();

  constructor(state: MailboxState, recipient: Recipient) {
    this.state = state;
    this.#recipient = recipient;
  }

  /** Messages that wait, those on their way to the store included. */
  get waiting(): number {
    return this.state.queue.length + this.#arriving.length;
  }

  /** Whether the message of this invocation waits. */
  has(invocationId: string): boolean {
    const waiting = [...this.state.queue, ...this.#arriving.map(({ keep }) => keep)];
    return waiting.some((message) => message.invocationId === invocationId);
  }

  /** No write to the store is under way. */
  get finished(): boolean {
    return this.#arriving.length === 0 && this.#rejected.length === 0 && !this.#keeping;
  }

  /** Takes the next message off the queue. */
  next(): QueuedMessage | undefined {
    return this.state.queue.shift();
  }

  /**
   * Accepted messages of earlier chains, which nobody has answered.
   *
   * @param superseded the one among them that this chain began with.
   */
  takeUp(messages: readonly WaitingMessage[], superseded?: Partial<QueuedMessage>): void {
    const current = this.#recipient.current()?.invocationId;
    messages.forEach((message, index) => {
      const { invocationId, bytes } = message;
      if (invocationId === current || Object.hasOwn(this.state.ended, invocationId)) return;
      const queued = this.state.queue.find((other) => other.invocationId === invocationId);
      if (queued !== undefined && queued.place < EARLIER) return;
      const place = EARLIER + index;
      this.#earlier.set(invocationId, place);
      if (this.#arriving.some(({ keep }) => keep.invocationId === invocationId)) return;
      this.state.queue = this.state.queue.filter((other) => other !== queued);
      // Larger messages were stored before they were sent, and don't count here.
      this.#insert({
        ...message,
        ...arrivalOf(invocationId === superseded?.invocationId ? superseded : queued),
        place,
        bytes: bytes > PAYLOAD_LIMIT ? 0 : bytes,
      });
    });
  }

  ended(invocationId: string, digest: string | undefined): void {
    this.state.ended[invocationId] = digest ?? '';
    const ids = Object.keys(this.state.ended);
    for (const id of ids.slice(0, Math.max(0, ids.length - MOST_ENDED))) delete this.state.ended[id];
  }

  /** A message that came by signal: there is nobody to answer. */
  signalled(message: SendMessage): void {
    const arrived = this.#arrive(message);
    if (!('keep' in arrived)) this.#refuseSignal(message, arrived);
  }

  /** A message that came by update, or the question for the receipt of one that came by signal. */
  async updated(message: SendMessage): Promise<MessageReceipt> {
    const arrived = this.#arrive(message, this.#refusals.get(refusalKey(message)));
    if (!('keep' in arrived)) {
      this.#refusals.delete(refusalKey(message));
      return arrived;
    }
    // Also while the run is being cancelled: the message is on its way to the store.
    await CancellationScope.nonCancellable(() => condition(() => arrived.receipt !== undefined));
    return this.#receiptOf(arrived);
  }

  /** A signal's payload that is no message; where it has an id, the inbox tells of it. */
  refused(given: unknown, reason: string): void {
    this.note(reason);
    const { value: named } = take<Pick<SendMessage, 'messageId'>>(WORKFLOW_CHECKS.namedMessage, given);
    if (named === undefined) return;
    const { messageId } = named;
    const { app, userId, sessionId } = this.#recipient;
    const invocationId = invocationIdOf(app, userId, sessionId, messageId);
    this.#reject({ messageId, invocationId, rejected: reason });
  }

  note(text: string): void {
    log.warn(text);
    this.state.notes = [...this.state.notes, text].slice(-MOST_NOTES);
  }

  /** @param refusal what an earlier signal was told, if nobody has asked for it yet. */
  #arrive(message: SendMessage, refusal?: MessageReceipt): MessageReceipt | Arriving {
    const { app, userId, sessionId } = this.#recipient;
    const { messageId, policy = 'enqueue' } = message;
    const invocationId = invocationIdOf(app, userId, sessionId, messageId);
    const digest = sentDigest(message);
    const receipt = (
      status: MessageReceipt['status'],
      more: Partial<MessageReceipt> = {},
    ): MessageReceipt => ({ v: PROTOCOL_VERSION, messageId, invocationId, status, ...more });
    const told = (known: string | undefined, status: MessageReceipt['status'], position?: number) =>
      known !== undefined && known !== '' && known !== digest
        ? receipt('duplicate', { reason: OTHER_CONTENT })
        : receipt(status, { position });

    const current = this.#recipient.current();
    if (current?.invocationId === invocationId) return told(current.digest, 'running');
    const arriving = this.#arriving.find(({ keep }) => keep.invocationId === invocationId);
    if (arriving !== undefined) {
      return arriving.keep.digest === digest ? arriving : told(arriving.keep.digest, 'queued');
    }
    const index = this.state.queue.findIndex((queued) => queued.invocationId === invocationId);
    const queued = this.state.queue[index];
    if (queued !== undefined) return told(queued.digest, 'queued', index + 1);
    if (Object.hasOwn(this.state.ended, invocationId)) {
      return told(this.state.ended[invocationId], 'finished');
    }
    if (refusal !== undefined) return refusal;
    if (policy === 'reject' && (current !== undefined || this.waiting > 0)) {
      return receipt('rejected', { reason: 'the session is answering another message' });
    }
    const bytes = message.stored === undefined ? jsonBytes([message.message, message.stateDelta]) : 0;
    const problem = this.#capacityProblem(bytes);
    if (problem !== undefined) return receipt('queue full', { reason: problem });
    // It is carried from run to run: what isn't measured must be short.
    const { traceparent, priority, rootAgent } = message;
    const arrival = {
      traceparent: isTraceparent(traceparent) ? traceparent : undefined,
      cameAt: Date.now(),
      priority,
      rootAgent,
    };
    const arrived: Arriving = { keep: this.#toKeep(message, invocationId, digest, bytes), policy, arrival };
    this.#arriving.push(arrived);
    this.#refusals.delete(refusalKey(message));
    this.#keepAll();
    return arrived;
  }

  #capacityProblem(bytes: number): string | undefined {
    if (this.waiting >= MOST_QUEUED) return `${MOST_QUEUED} messages wait already: send it again later`;
    const sum =
      this.state.queue.reduce((total, queued) => total + queued.bytes, 0) +
      this.#arriving.reduce((total, { keep }) => total + keep.bytes, 0);
    if (sum + bytes <= MOST_QUEUED_BYTES) return undefined;
    return `${sum} bytes of messages wait already, at most ${MOST_QUEUED_BYTES} do: send it again later`;
  }

  #toKeep(message: SendMessage, invocationId: string, digest: string, bytes: number): MessageToKeep {
    const { messageId, policy, stateDelta, agent, runConfig, stored, attestation } = message;
    this.state.places += 1;
    return {
      ...{ messageId, invocationId, digest, bytes },
      place: policy === 'interrupt' ? URGENT + this.state.places : this.state.places,
      ...(stored === undefined ? { message: message.message ?? '' } : { stored: true }),
      ...{ stateDelta, agent, runConfig, attestation },
    };
  }

  #refuseSignal(message: SendMessage, receipt: MessageReceipt): void {
    if (receipt.status !== 'rejected' && receipt.status !== 'queue full' && receipt.status !== 'duplicate')
      return;
    const { messageId, invocationId, reason = '' } = receipt;
    this.note(`message ${shown(messageId)} ${receipt.status}: ${reason}`);
    this.#refusals.set(refusalKey(message), receipt);
    if (this.#refusals.size > MOST_QUEUED) this.#refusals.delete([...this.#refusals.keys()][0] ?? '');
    // One id is one row: the message of that id which was taken keeps it.
    if (receipt.status === 'duplicate') return;
    this.#reject({ messageId, invocationId, rejected: `${receipt.status}: ${reason}` });
  }

  #reject(rejected: Required<Pick<MessageToKeep, 'messageId' | 'invocationId' | 'rejected'>>): void {
    this.#rejected.push({ ...rejected, place: 0, digest: '', bytes: 0 });
    this.#keepAll();
  }

  #keepAll(): void {
    if (this.#keeping) return;
    this.#keeping = true;
    void CancellationScope.nonCancellable(async () => {
      try {
        while (this.#arriving.length > 0 || this.#rejected.length > 0) await this.#keepSome();
      } finally {
        this.#keeping = false;
      }
    });
  }

  async #keepSome(): Promise<void> {
    let sum = 0;
    const some = this.#arriving.filter(({ keep }, index) => {
      sum += keep.bytes;
      return index === 0 || sum <= PAYLOAD_LIMIT;
    });
    const { app, userId, sessionId } = this.#recipient;
    // First, so that a message that is taken now replaces the note on its rejection.
    const rejected = this.#rejected.splice(0, MOST_QUEUED);
    const messages = [...rejected, ...some.map(({ keep }) => keep)];
    const startedAt = this.#recipient.startedAt();
    const input: KeepMessagesInput = { v: PROTOCOL_VERSION, app, userId, sessionId, startedAt, messages };
    let kept: readonly KeptMessage[];
    try {
      const label =
        messages.length === 1
          ? `message ${shown(messages[0]?.messageId ?? '')}`
          : `${messages.length} messages`;
      const options = keepMessagesOptions(label, turnPriority({ app, userId }));
      const result = await scheduleActivity<KeepMessagesResult>(KEEP_MESSAGES, [input], options);
      kept = usable(KEEP_MESSAGES, RESULTS.keptMessages, result).messages;
    } catch {
      // The activity says what went wrong; it is not tried again where trying can't help.
      kept = messages.map(({ messageId }) => ({
        messageId,
        kind: 'refused',
        reason: 'the store did not take it; see the failed activity',
      }));
    }
    this.#arriving = this.#arriving.filter((arriving) => !some.includes(arriving));
    some.forEach((arrived, index) => {
      this.#finish(arrived, kept[rejected.length + index]);
    });
  }

  #finish(arrived: Arriving, kept: KeptMessage | undefined): void {
    const { messageId, invocationId } = arrived.keep;
    const receipt = { v: PROTOCOL_VERSION, messageId, invocationId };
    switch (kept?.kind) {
      case 'kept':
      // Its first step gives what was recorded, and goes on from there.
      case 'reset':
        this.#enqueue(arrived);
        arrived.receipt = { ...receipt, status: 'queued' };
        return;
      case 'known':
        arrived.receipt = { ...receipt, status: 'finished' };
        return;
      case 'duplicate':
        arrived.receipt = { ...receipt, status: 'duplicate', reason: OTHER_CONTENT };
        break;
      case 'missing':
        arrived.receipt = { ...receipt, status: 'rejected', reason: NOT_STORED };
        break;
      default:
        arrived.receipt = { ...receipt, status: 'rejected', reason: kept?.reason ?? 'it was not kept' };
    }
    this.note(`message ${shown(messageId)} ${arrived.receipt.status}: ${arrived.receipt.reason}`);
  }

  #enqueue({ keep, policy, arrival }: Arriving): void {
    const { messageId, invocationId, digest, bytes, agent, runConfig } = keep;
    this.#insert({
      messageId,
      invocationId,
      place: policy === 'interrupt' ? keep.place : (this.#earlier.get(invocationId) ?? keep.place),
      digest,
      bytes,
      ...{ agent, runConfig },
      ...arrival,
    });
    if (policy === 'interrupt') this.#recipient.interrupt();
  }

  #insert(message: QueuedMessage): void {
    const next = this.state.queue.findIndex(({ place }) => place > message.place);
    this.state.queue.splice(next === -1 ? this.state.queue.length : next, 0, message);
  }

  /** Where it stands by now. */
  #receiptOf({ keep, receipt }: Arriving): MessageReceipt {
    if (receipt === undefined) throw new Error('a message is answered once the store has it');
    if (receipt.status !== 'queued') return receipt;
    const index = this.state.queue.findIndex(({ invocationId }) => invocationId === keep.invocationId);
    if (index !== -1) return { ...receipt, position: index + 1 };
    const running = this.#recipient.current()?.invocationId === keep.invocationId;
    return { ...receipt, status: running ? 'running' : 'finished' };
  }
}

function refusalKey(message: SendMessage): string {
  const { messageId, policy = 'enqueue' } = message;
  return JSON.stringify([messageId, sentDigest(message), policy]);
}

/** A message that waits for the end of those before it; its content is in the store. */
export interface QueuedMessage extends WaitingMessage {
  traceparent?: string;
  /** Milliseconds since the epoch. */
  cameAt?: number;
  /** Temporal's priority key of the activities of its turn. */
  priority?: number;
  /** Root of the tree that answers where the message names no agent. */
  rootAgent?: string;
}

/** The fields of a message sent again that the store doesn't keep. */
export function arrivalOf(message: Partial<QueuedMessage> = {}): Partial<QueuedMessage> {
  const { traceparent, cameAt, priority, rootAgent } = message;
  return { traceparent, cameAt, priority, rootAgent };
}

/** A message's id, for people. */
export function shown(messageId: string): string {
  return excerpt(messageId, 40);
}
