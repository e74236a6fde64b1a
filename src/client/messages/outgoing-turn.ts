import { LONGEST_ATTESTATION } from '../../contract/decision-limits.ts';
import { depthProblem, functionResponseProblem, runConfigProblem } from '../../contract/message-limits.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import type { Content } from '../../events/content.ts';
import { isRecord } from '../../protocol/json.ts';
import type { MessagePolicy, SendMessage } from '../../protocol/message.ts';
import { confirmationReplyOf } from '../../protocol/replies.ts';
import type { TurnRunConfig } from '../../protocol/run-terms.ts';
import { PAYLOAD_LIMIT } from '../../protocol/sizes.ts';
import type { AgentTurnStart } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { activeTrace } from '../active-trace.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn, MessageTooLarge } from '../client-errors.ts';
import { checkBounded, checkState, type TurnNames } from '../turns/turn-names.ts';
import { RESERVED_NAMES, replyParts } from './reply-parts.ts';
import { sealedReplies } from './seal-replies.ts';

/** A message to a session; what {@link HoldfastClient.sendMessage} takes. */
export interface OutgoingMessage extends SessionNames {
  /**
   * A string means one user text part. Over 64 KiB of JSON, `stateDelta` included, it goes to the client's store first.
   * Objects and lists are nested in at most 100 levels, here and in `stateDelta`. Parts may be function responses: late ones of
   * long-running tools, those of calls that the client answers (`runConfig.pauseOnToolCalls`), and answers to requests, in ADK's
   * form. Of nothing but such answers no turn begins: the one that waits goes on. A secret in them is kept encrypted by the
   * store, and travels as a reference.
   */
  message: string | Content;
  /**
   * One message id is one turn, for ever, however often it is sent. At most 1,000 characters, like `agent`. Defaults to a
   * random one.
   */
  messageId?: string;
  /**
   * Decides about a message that comes while the session answers another one: it waits, ends the other turn, or is refused.
   * Defaults to `enqueue`.
   */
  policy?: MessagePolicy;
  /** The agent that answers: any agent that the worker serves, sub-agents included. Defaults to the agent of the tree that goes on. */
  agent?: string;
  /**
   * Root agent of the tree that answers if no `agent` is named. The transcript decides which of its agents answers, as in ADK. Defaults
   * to the app's.
   */
  rootAgent?: string;
  /** State that the message's event carries. Not allowed in a message that only answers a waiting turn, which is no event. */
  stateDelta?: Record<string, unknown>;
  /** Fields that Holdfast doesn't know are left out. */
  runConfig?: TurnRunConfig;
  /**
   * Proves the sender: a compact JWS of an issuer that the app names. Without one the sender is unverified, and nobody may decide
   * about a call with `notRequester`.
   */
  attestation?: string;
  /**
   * Which of several turns' work the workers do first: Temporal's priority key, from 1 (first) to 5, of the turn's model calls, tools
   * and jobs.
   *
   * @default 3
   */
  priority?: number;
}

/** A turn in the forms in which it crosses Temporal. */
export interface OutgoingTurn {
  names: TurnNames;
  start: AgentTurnStart & { messageId: string };
  /** Payload of signal and update; a retry has no message of its own. */
  message?: SendMessage;
  /** Its content was put into the store for this sending, where there was none of it. */
  uploaded?: boolean;
}

const POLICIES: readonly unknown[] = [undefined, 'enqueue', 'interrupt', 'reject'];

/**
 * Puts a message that is too large to travel into the store, and the secrets of those that answer requests for credentials.
 *
 * @throws InvalidTurn, MessageTooLarge, and what `credentials.put` throws.
 */
export async function outgoingTurn(
  context: ClientContext,
  names: TurnNames,
  given: OutgoingMessage,
): Promise<OutgoingTurn> {
  const { store } = context;
  const { policy } = given;
  // Null counts as absent, as in a message of any other client.
  const stateDelta = given.stateDelta ?? undefined;
  const agent = given.agent ?? undefined;
  const rootAgent = given.rootAgent ?? undefined;
  const runConfig = knownRunConfig(given.runConfig ?? undefined);
  const attestation = given.attestation ?? undefined;
  checkDepth({ message: given.message, stateDelta });
  checkContent(given.message);
  if (agent !== undefined) checkBounded({ agent }, 'sendMessage');
  if (rootAgent !== undefined) checkBounded({ rootAgent }, 'sendMessage');
  if (stateDelta !== undefined && !isRecord(stateDelta)) {
    throw invalid('stateDelta', 'expected an object or nothing');
  }
  checkState({ stateDelta }, 'sendMessage');
  if (!POLICIES.includes(policy)) {
    throw invalid('policy', "expected 'enqueue', 'interrupt', 'reject' or nothing");
  }
  if (attestation !== undefined && (typeof attestation !== 'string' || attestation === '')) {
    throw invalid('attestation', 'expected a compact JWS or nothing');
  }
  if (attestation !== undefined && attestation.length > LONGEST_ATTESTATION) {
    const problem = `${attestation.length} characters, at most ${LONGEST_ATTESTATION} are allowed`;
    throw invalid('attestation', problem);
  }
  const priority = given.priority ?? undefined;
  if (priority !== undefined && !(isWhole(priority) && priority >= 1 && priority <= 5)) {
    throw invalid('priority', 'expected 1 (first), 2, 3, 4, 5 (last) or nothing');
  }
  const { session, messageId } = names;
  const message = await sealedReplies(context, session, given.message);
  const withDelta = stateDelta === undefined ? {} : { stateDelta };
  const bytes = jsonBytes([message, stateDelta]);
  let content: Pick<SendMessage, 'message' | 'stored' | 'stateDelta'> = { message, ...withDelta };
  let uploaded = false;
  if (bytes > PAYLOAD_LIMIT) {
    if (replyParts(message).length > 0) {
      throw invalid(
        'message',
        'what answers requests goes in a message of its own, of at most 64 KiB of JSON',
      );
    }
    if (store === undefined) throw tooLarge(bytes);
    uploaded = !(await isKept(store, names));
    content = { stored: await store.messages.upload({ ...session, messageId, message, ...withDelta }) };
  }
  const common = {
    v: PROTOCOL_VERSION,
    messageId,
    ...content,
    ...(agent === undefined ? {} : { agent }),
    ...(rootAgent === undefined ? {} : { rootAgent }),
    ...(runConfig === undefined ? {} : { runConfig }),
    ...activeTrace(),
    ...(attestation === undefined ? {} : { attestation }),
    ...(priority === undefined ? {} : { priority }),
  };
  return {
    names,
    start: { ...common, ...session },
    message: policy === undefined ? common : { ...common, policy },
    uploaded,
  };
}

/** Somebody else has sent a message of this id, or is about to, and needs its content. */
async function isKept(store: Store, { session, invocationId }: TurnNames): Promise<boolean> {
  const row = await store.messages.findWaiting(session, invocationId);
  return row?.status === 'waiting' || row?.status === 'uploaded';
}

/** The rules of the workflow, which could tell nobody of a message that came by signal. */
function checkContent(message: unknown): void {
  if (typeof message === 'string') {
    if (message.trim() === '') throw invalid('message', 'expected text, got an empty string');
    return;
  }
  if (!isRecord(message)) throw invalid('message', 'expected text or a Content { role, parts }');
  const { parts, role } = message;
  if (!Array.isArray(parts) || parts.length === 0)
    throw invalid('message.parts', 'expected at least one part');
  parts.forEach((part: unknown, index) => {
    if (!isRecord(part) || Object.keys(part).length === 0) {
      throw invalid(`message.parts[${index}]`, 'expected a part with at least one field');
    }
    if ((part.functionCall ?? undefined) !== undefined) {
      throw invalid(`message.parts[${index}]`, 'a message carries no function calls');
    }
    const { functionResponse = null } = part;
    const problem = functionResponse === null ? undefined : functionResponseProblem(functionResponse);
    if (problem !== undefined) throw invalid(`message.parts[${index}]`, problem);
    checkApproval(functionResponse, `message.parts[${index}].functionResponse`);
  });
  if (role !== undefined && role !== 'user') throw invalid('message.role', "expected 'user' or nothing");
}

/** A malformed one decides nothing, and its sender is to know it. */
function checkApproval(functionResponse: unknown, field: string): void {
  const { name, response } = (functionResponse ?? {}) as Record<string, unknown>;
  if (name !== RESERVED_NAMES.confirmation || !isRecord(response)) return;
  const reply = confirmationReplyOf(response);
  if ('problem' in reply) throw invalid(`${field}.${reply.field}`, reply.problem);
}

function knownRunConfig(runConfig: unknown): TurnRunConfig | undefined {
  if (runConfig === undefined) return undefined;
  if (!isRecord(runConfig)) throw invalid('runConfig', 'expected an object or nothing');
  const maxLlmCalls = runConfig.maxLlmCalls ?? undefined;
  const streamingMode = runConfig.streamingMode ?? undefined;
  if (maxLlmCalls !== undefined && !isWhole(maxLlmCalls)) {
    throw invalid('runConfig.maxLlmCalls', 'expected a whole number or nothing');
  }
  if (streamingMode !== undefined && streamingMode !== 'none' && streamingMode !== 'sse') {
    throw invalid('runConfig.streamingMode', "expected 'none', 'sse' or nothing");
  }
  const pauseOnToolCalls = runConfig.pauseOnToolCalls ?? undefined;
  const customMetadata = runConfig.customMetadata ?? undefined;
  const later = { pauseOnToolCalls, customMetadata };
  const wrong = runConfigProblem(later, (value) => jsonBytes(value, 'runConfig.customMetadata'));
  if (wrong !== undefined) throw invalid(wrong.field, wrong.problem);
  return {
    ...(maxLlmCalls === undefined ? {} : { maxLlmCalls }),
    ...(streamingMode === undefined ? {} : { streamingMode }),
    ...(pauseOnToolCalls === undefined ? {} : { pauseOnToolCalls: pauseOnToolCalls as boolean }),
    ...(customMetadata === undefined ? {} : { customMetadata: customMetadata as Record<string, unknown> }),
  };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Checked before anything else walks them. */
function checkDepth(fields: Record<string, unknown>): void {
  for (const [field, value] of Object.entries(fields)) {
    const problem = depthProblem(value);
    if (problem !== undefined) throw invalid(field, problem);
  }
}

function jsonBytes(value: unknown, field = 'message'): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch (error) {
    const problem = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    throw invalid(field, `expected JSON: ${problem}`);
  }
}

function invalid(field: string, problem: string): InvalidTurn {
  return new InvalidTurn(`sendMessage: ${field}: ${problem}`);
}

function tooLarge(bytes: number): MessageTooLarge {
  return new MessageTooLarge(
    `the message has ${bytes} bytes of JSON with its stateDelta, at most ${PAYLOAD_LIMIT} travel through Temporal: give ` +
      'HoldfastClient the workers’ store as its option `store`, which then keeps the message, or send less',
  );
}
