import { ApplicationFailure } from '@temporalio/workflow';
import type { DecisionReceipt, RequestName } from '../../src/contract/approvals.ts';
import { shapeOf } from '../../src/contract/check.ts';
import { RESPONSE_REF } from '../../src/contract/decision-limits.ts';
import type { JobReceipt } from '../../src/contract/jobs.ts';
import type { GateKind } from '../../src/contract/requests.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { Content, FunctionResponse, Part } from '../../src/events/content.ts';
import {
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '../../src/events/request-calls.ts';
import { REQUEST_PREFIX } from '../../src/protocol/gate.ts';
import { callKeyOfId } from '../../src/protocol/identity.ts';
import type { JobMessage } from '../../src/protocol/job.ts';
import { defined } from '../../src/protocol/json.ts';
import { type MessageReceipt, messageDigest, type SendMessage } from '../../src/protocol/message.ts';
import { SEND_MESSAGE } from '../../src/protocol/names.ts';
import { confirmationReplyOf, inputReplyOf, unwrappedReply } from '../../src/protocol/replies.ts';
import type { AgentTurnStart } from '../../src/protocol/turn.ts';
import {
  type CheckedDecision,
  checkedConfirm,
  checkedCredential,
  checkedInput,
} from '../approvals/decision.ts';
import { bareReceipt } from '../approvals/decisions.ts';
import type { Requests } from '../approvals/requests.ts';
import { refusal } from '../arguments.ts';
import type { Forwarding } from '../children/forwarding.ts';
import type { Jobs } from '../jobs/jobs.ts';

/** Takes messages, as far as they answer nothing. */
export interface MessageBox {
  /** @throws ApplicationFailure where it takes none. */
  check?(): void;
  signalled(message: SendMessage): void;
  updated(message: SendMessage): MessageReceipt | Promise<MessageReceipt>;
  /** The signal is no message. */
  refused(given: unknown, reason: string): void;
}

/** Messages to an agent below another one: it takes only answers to its own requests or to waiting calls. */
export function answersOnly(rootWorkflowId: string, note: (text: string) => void): MessageBox {
  const problem = `this is an agent below another one, which takes nothing but answers: send it to the root's session, whose workflow is ${rootWorkflowId}`;
  const refused = () => refusal(SEND_MESSAGE, 'InvalidMessage', 'message', problem);
  const check = () => {
    throw refused();
  };
  return {
    check,
    updated: check,
    signalled: () => note(refused().message),
    refused: (_given, reason) => note(reason),
  };
}

interface Answered {
  requests: Requests;
  jobs: Jobs;
  mailbox: MessageBox;
  forwarding: Forwarding;
  /** For an operator to read. */
  note(text: string): void;
}

/** Messages whose parts may answer requests, or calls that wait for jobs: those parts go there, and the rest goes to the mailbox. */
export class AnsweredMessages {
  readonly #requests: Requests;
  readonly #jobs: Jobs;
  readonly #mailbox: MessageBox;
  readonly #forwarding: Forwarding;
  readonly #note: (text: string) => void;
  readonly #invocationId: () => string;

  /** @param invocationId of the turn that waits, or the last one. */
  constructor({ requests, jobs, mailbox, forwarding, note }: Answered, invocationId: () => string) {
    this.#requests = requests;
    this.#jobs = jobs;
    this.#mailbox = mailbox;
    this.#forwarding = forwarding;
    this.#note = note;
    this.#invocationId = invocationId;
  }

  /**
   * For the validator of an update.
   *
   * @throws ApplicationFailure of type `RawSecret`, or where something in it answers nothing and the mailbox takes no messages: all
   *   else is answered part by part.
   */
  check(message: SendMessage): void {
    const { replies, rest } = this.#split(message);
    if (message.stored !== undefined || rest !== undefined) this.#mailbox.check?.();
    for (const reply of replies) {
      try {
        const decision = decisionOf(reply, this.#requests);
        if (this.#forwarding.askedBy(decision.name) === undefined) this.#requests.check(decision);
      } catch (error) {
        if (isSecret(error)) throw error;
      }
    }
  }

  signalled(message: SendMessage): void {
    const split = this.#split(message);
    const { replies, responses, rest } = split;
    for (const response of responses) {
      const told = jobMessageOf(message, split);
      if (this.#isCallOfChild(response.id ?? '')) void this.#forwardJob(message, response, told);
      else this.#jobs.signalled(response, told);
    }
    for (const reply of replies) {
      try {
        const decision = decisionOf(reply, this.#requests);
        const other = this.#forwarding.askedBy(decision.name);
        if (other === undefined) this.#requests.signalled(decision);
        else void this.#forwardReply(other, message, reply);
      } catch (error) {
        this.#requests.refused(nameOf(reply), error);
      }
    }
    if (rest !== undefined || message.stored !== undefined) this.#mailbox.signalled(restOf(message, rest));
  }

  async updated(message: SendMessage): Promise<MessageReceipt> {
    const split = this.#split(message);
    const { replies, responses, rest } = split;
    if (replies.length + responses.length === 0) return await this.#mailbox.updated(message);
    const answers = Promise.all(replies.map((reply) => this.#answer(message, reply)));
    const jobs = Promise.all(
      responses.map((response) => {
        const told = jobMessageOf(message, split);
        return this.#isCallOfChild(response.id ?? '')
          ? this.#forwardJob(message, response, told)
          : this.#jobs.respond(response, told);
      }),
    );
    const receipt =
      rest === undefined ? this.#taken(message) : await this.#mailbox.updated(restOf(message, rest));
    return {
      ...receipt,
      ...(replies.length === 0 ? {} : { replies: await answers }),
      ...(responses.length === 0 ? {} : { jobs: await jobs }),
    };
  }

  /** All of it was said to what waits. */
  #taken({ messageId }: SendMessage): MessageReceipt {
    return { v: PROTOCOL_VERSION, messageId, invocationId: this.#invocationId(), status: 'running' };
  }

  async #answer(message: SendMessage, reply: FunctionResponse): Promise<DecisionReceipt> {
    try {
      const decision = decisionOf(reply, this.#requests);
      const other = this.#forwarding.askedBy(decision.name);
      if (other === undefined) return await this.#requests.decide(decision);
      const part = only(message, reply);
      return await this.#forwarding.decision(other, SEND_MESSAGE, part, decision.name);
    } catch (error) {
      if (!(error instanceof ApplicationFailure)) throw error;
      const requestId = typeof reply.id === 'string' ? reply.id : '';
      return { ...bareReceipt(requestId), status: 'refused', reason: error.message };
    }
  }

  /** A signal has no answer: a failure to forward it is noted for operators. */
  async #forwardReply(runKey: string, message: SendMessage, reply: FunctionResponse): Promise<void> {
    try {
      await this.#forwarding.decision(runKey, SEND_MESSAGE, only(message, reply), nameOf(reply));
    } catch (error) {
      this.#requests.refused(nameOf(reply), error);
    }
  }

  async #forwardJob(
    message: SendMessage,
    response: FunctionResponse,
    { messageId: _messageId, ...partOf }: JobMessage,
  ): Promise<JobReceipt> {
    const { id: callId = '' } = response;
    const runKey = this.#forwarding.callOf({ callId }) ?? '';
    const part = { ...only(message, response), partOf };
    const workflowId = await this.#forwarding.send(runKey, SEND_MESSAGE, part);
    const told = {
      v: PROTOCOL_VERSION,
      jobId: '',
      callKey: callKeyOfId(callId) ?? '',
      job: 'running',
    } as const;
    if (workflowId !== undefined) return { ...told, status: 'forwarded', workflowId };
    const reason = `no agent runs that waits for ${callId}`;
    this.#note(`response to ${callId} refused: ${reason}`);
    return { ...told, status: 'refused', reason };
  }

  /** Two models may have named their calls alike: what waits here comes first. */
  #isCallOfChild(id: string): boolean {
    return !this.#jobs.knows(id) && this.#forwarding.isCallOfChild(id);
  }

  #split({ message }: SendMessage): AnswersOf {
    const isRequest = (id: string) => this.#requests.knows(id) || this.#forwarding.isRequest(id);
    const { replies, rest } = splitMessage(message, isRequest);
    const jobs = withoutResponses(rest, (id) => this.#jobs.knows(id) || this.#isCallOfChild(id));
    return { replies, said: rest, ...jobs };
  }
}

type AnswersOf = SplitMessage &
  MessageOfJobs & {
    /** The message without what answers requests. */
    said: SplitMessage['rest'];
  };

/** As the message is known again, by the root that it was sent to. */
function jobMessageOf(
  { messageId, message, stateDelta, partOf }: SendMessage,
  { said, rest }: AnswersOf,
): JobMessage {
  if (isDigests(partOf)) return { messageId, ...partOf };
  return {
    messageId,
    digest: messageDigest(said ?? message ?? '', stateDelta),
    ...(rest === undefined ? {} : { rest: messageDigest(rest, stateDelta) }),
  };
}

/** A client may send anything. */
function isDigests(partOf: unknown): partOf is NonNullable<SendMessage['partOf']> {
  if (typeof partOf !== 'object' || partOf === null || !('digest' in partOf)) return false;
  const { digest, rest } = partOf as Record<string, unknown>;
  return typeof digest === 'string' && (rest === undefined || typeof rest === 'string');
}

/**
 * A start without what answers requests: no request is pending then.
 *
 * @throws ApplicationFailure of type `InvalidStart` where nothing else is said.
 */
export function withoutReplies(start: AgentTurnStart): { start: AgentTurnStart; inVain: number } {
  const { replies, rest } = splitMessage(start.message, () => false);
  if (replies.length === 0) return { start, inVain: 0 };
  if (rest === undefined) {
    throw refusal(
      'agentTurn',
      'InvalidStart',
      'message',
      'it only answers requests, and no turn of this session waits for any: send it while the turn that has asked runs, by sendMessage, or send something else with it',
    );
  }
  return { start: { ...start, message: rest }, inVain: replies.length };
}

/** A message of this part alone, as it came. */
function only({ v, messageId, message }: SendMessage, functionResponse: FunctionResponse): SendMessage {
  const { role = 'user' } = typeof message === 'object' ? message : {};
  return {
    v,
    messageId,
    message: { role, parts: [{ functionResponse }] },
  };
}

function restOf(message: SendMessage, rest: SplitMessage['rest']): SendMessage {
  return rest === undefined ? message : { ...message, message: rest };
}

/** As far as it is one: a client may send anything. */
function nameOf({ id }: FunctionResponse) {
  if (typeof id !== 'string') return {};
  return id.startsWith(REQUEST_PREFIX) ? { requestId: id } : { callId: id };
}

function isSecret(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === 'RawSecret';
}

const KIND_OF_NAME: ReadonlyMap<string | undefined, GateKind> = new Map([
  [REQUEST_CONFIRMATION_FUNCTION_CALL_NAME, 'confirmation'],
  [REQUEST_INPUT_FUNCTION_CALL_NAME, 'input'],
  [REQUEST_CREDENTIAL_FUNCTION_CALL_NAME, 'credential'],
]);

/** A message without what answers requests, and that. */
export interface SplitMessage {
  replies: FunctionResponse[];
  /** Absent where nothing else was said. */
  rest?: string | Content;
}

/**
 * Takes the parts out of a message that answer requests to people.
 *
 * @param isRequest whether the id of a function response means a request, under any name.
 */
export function splitMessage(
  message: string | Content | undefined,
  isRequest: (id: string) => boolean,
): SplitMessage {
  if (message === undefined) return { replies: [] };
  if (typeof message === 'string') return { replies: [], rest: message };
  const { parts = [] } = message;
  const replies = parts.flatMap((part) => replyOf(part, isRequest) ?? []);
  if (replies.length === 0) return { replies, rest: message };
  const others = parts.filter((part) => replyOf(part, isRequest) === undefined);
  return { replies, ...(others.length === 0 ? {} : { rest: { ...message, parts: others } }) };
}

/** A message without what answers calls that have jobs, and that. */
export interface MessageOfJobs {
  responses: FunctionResponse[];
  /** Absent where nothing else was said. */
  rest?: string | Content;
}

/** @param hasJob whether a response of this id is one to a call that has a job, or may have one. */
export function withoutResponses(
  message: string | Content | undefined,
  hasJob: (id: string) => boolean,
): MessageOfJobs {
  if (message === undefined || typeof message === 'string') return { responses: [], ...restField(message) };
  const isResponse = ({ functionResponse }: Part) =>
    typeof functionResponse?.id === 'string' && hasJob(functionResponse.id);
  const { parts = [] } = message;
  const responses = parts.flatMap((part) => (isResponse(part) ? (part.functionResponse ?? []) : []));
  if (responses.length === 0) return { responses, rest: message };
  const others = parts.filter((part) => !isResponse(part));
  return { responses, ...(others.length === 0 ? {} : { rest: { ...message, parts: others } }) };
}

function restField<Rest>(rest: Rest | undefined): { rest?: Rest } {
  return defined({ rest });
}

function replyOf(
  { functionResponse }: Part,
  isRequest: (id: string) => boolean,
): FunctionResponse | undefined {
  const { name, id } = functionResponse ?? {};
  if (KIND_OF_NAME.has(name) || (typeof id === 'string' && isRequest(id))) return functionResponse;
  return undefined;
}

/**
 * Reads the decision of a reply in the form of `@google/adk`.
 *
 * @throws ApplicationFailure where it is malformed or too large, has a secret in it, or an id that is no text.
 */
export function decisionOf(
  { id, name, response = {} }: FunctionResponse,
  requests: { kindOf(name: RequestName): GateKind | undefined },
): CheckedDecision {
  const which = checkedName(id);
  const kind = KIND_OF_NAME.get(name) ?? requests.kindOf(which) ?? 'confirmation';
  if (kind === 'credential') {
    const { given } = unwrappedReply(response);
    return checkedCredential({ ...which, ...given } as Parameters<typeof checkedCredential>[0]);
  }
  if (kind === 'input') return inputOf(which, response);
  const reply = confirmationReplyOf(response);
  if (!('problem' in reply)) return checkedConfirm({ ...which, ...reply });
  const problem = `${reply.problem}; the request stays open`;
  throw refusal(SEND_MESSAGE, 'InvalidDecision', `functionResponse.${reply.field}`, problem);
}

/**
 * The request that a reply names by its id. A client may send any value; null counts as absent.
 *
 * @throws ApplicationFailure of type `InvalidDecision` where the id is no text: it must not mean the only request.
 */
function checkedName(id: unknown): RequestName {
  if (id === undefined || id === null || id === '') return {};
  if (typeof id !== 'string') {
    const problem = `expected the id of the request as text, got ${shapeOf(id)}`;
    throw refusal(SEND_MESSAGE, 'InvalidDecision', 'functionResponse.id', problem);
  }
  return id.startsWith(REQUEST_PREFIX) ? { requestId: id } : { callId: id };
}

function inputOf(which: RequestName, functionResponse: Record<string, unknown>): CheckedDecision {
  const { responseRef, ...others } = functionResponse;
  if (typeof responseRef === 'string' && RESPONSE_REF.test(responseRef) && Object.keys(others).length === 0)
    return checkedInput({ ...which, responseRef });
  const { response, isText } = inputReplyOf(functionResponse);
  const decision = checkedInput({ ...which, response });
  return isText ? { ...decision, isText } : decision;
}
