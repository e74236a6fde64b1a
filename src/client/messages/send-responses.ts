import { ANSWER_TIMEOUT } from '../../contract/fields.ts';
import type { JobReceipt, JobRow } from '../../contract/jobs.ts';
import { MOST_LISTED } from '../../contract/lists.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import type { Content, FunctionResponse } from '../../events/content.ts';
import { OWN_CALL_ID_PREFIX } from '../../protocol/identity.ts';
import type { JobMessage } from '../../protocol/job.ts';
import { type MessageReceipt, messageDigest, type SendMessage } from '../../protocol/message.ts';
import { SEND_MESSAGE } from '../../protocol/names.ts';
import type { Store } from '../../store/store.ts';
import { aboutWorkers, ask } from '../ask-workflow.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn } from '../client-errors.ts';
import { tellOfEnd } from '../jobs/tell-job.ts';
import type { SentTurn } from '../turns/await-result.ts';
import { openRun } from '../turns/open-run.ts';
import { rootInvocationOf } from '../turns/root-invocation.ts';
import type { TurnNames } from '../turns/turn-names.ts';
import { waitingTurn } from '../turns/waiting-turn.ts';
import { type Delivery, deliver, isAccepted } from './deliver.ts';
import type { Receipt } from './message-receipt.ts';
import type { OutgoingTurn } from './outgoing-turn.ts';
import { isResponsesOnly, replyParts } from './reply-parts.ts';

const MOST_TRIES = 5;

/** A message's turn, and what became of the message where that is known. */
export interface RespondedTurn {
  turn: SentTurn;
  receipt?: Receipt;
}

/**
 * The turn that a message told of its jobs, where that has ended: the message gives its result for ever. Undefined of any other
 * message.
 */
export async function toldTurn(
  context: ClientContext,
  { names, uploaded }: OutgoingTurn,
  { message, stateDelta }: { message: string | Content; stateDelta?: Record<string, unknown> | undefined },
): Promise<RespondedTurn | undefined> {
  const { store } = context;
  if (store === undefined || !isResponsesOnly(message)) return undefined;
  const said = jobMessage(names, message, stateDelta);
  const invocationId = await store.jobs.findAnswer(names.session, said);
  if (invocationId === undefined) return undefined;
  if (uploaded) await store.messages.forgetUpload(names.session, names.messageId);
  const { messageId } = names;
  const receipt = { v: PROTOCOL_VERSION, messageId, invocationId, status: 'finished' } as const;
  return { turn: await waitingTurn(context, names, invocationId), receipt: { ...receipt, confirmed: true } };
}

/** As the turn keeps it: what answers requests is not counted. */
function jobMessage(
  { messageId }: TurnNames,
  message: Content,
  stateDelta: Record<string, unknown> | undefined,
): JobMessage {
  const replies = new Set(replyParts(message).map(({ index }) => index));
  const parts = (message.parts ?? []).filter((_part, index) => !replies.has(index));
  return { messageId, digest: messageDigest({ ...message, parts }, stateDelta) };
}

/**
 * Sends a message of nothing but function responses to the turn that runs, which knows whether calls of its own wait for them; then no
 * turn begins with it. Undefined where none runs, or the message is to be sent like any other.
 */
export async function sendResponses(
  context: ClientContext,
  outgoing: OutgoingTurn,
): Promise<RespondedTurn | undefined> {
  const { names, message } = outgoing;
  if (message === undefined) return undefined;
  if (hasState(message.stateDelta)) await refuseState(context, outgoing);
  const deadline = Date.now() + ANSWER_TIMEOUT;
  for (let tried = 0; tried < MOST_TRIES; tried++) {
    const run = await openRun(context.temporal, names.workflowId);
    if (run === undefined) return undefined;
    const asked = await ask<MessageReceipt>(context, names.workflowId, {
      update: SEND_MESSAGE,
      payload: message,
      deadline,
    });
    if (asked.kind === 'silent') return await sentUnheard(context, outgoing);
    if (asked.kind === 'answer') return await taken(context, outgoing, asked.value, run);
  }
  return undefined;
}

async function taken(
  context: ClientContext,
  outgoing: OutgoingTurn,
  receipt: MessageReceipt,
  {
    runId,
    taskQueue,
    memo,
  }: Pick<Delivery, 'runId' | 'taskQueue'> & { memo?: Record<string, unknown> | undefined },
): Promise<RespondedTurn | undefined> {
  const { names } = outgoing;
  const { jobs = [], replies = [], invocationId } = receipt;
  if (jobs.length + replies.length > 0 && invocationId !== names.invocationId) {
    return {
      turn: await waitingTurn(context, names, invocationId),
      receipt: { ...receipt, confirmed: true },
    };
  }
  // The signal leaves word of it in the history.
  if (!isAccepted(receipt)) return undefined;
  const disposition = memo?.invocationId === names.invocationId ? 'attached' : 'sent';
  return { turn: { ...outgoing, disposition, runId, taskQueue } };
}

/** No worker is up: as far as the store knows of calls that wait, the message is for their turn. */
async function sentUnheard(
  context: ClientContext,
  outgoing: OutgoingTurn,
): Promise<RespondedTurn | undefined> {
  const { names, message } = outgoing;
  const [waiting] = await waitingJobs(context.store, names, contentOf(message));
  if (waiting === undefined) return undefined;
  const { taskQueue } = await deliver(context, outgoing);
  const reason = await aboutWorkers(context, taskQueue);
  const of = await rootInvocationOf(context, names, waiting.job.invocationId);
  const turn = await waitingTurn(context, names, of);
  return { turn, receipt: { status: 'accepted', confirmed: false, reason } };
}

/**
 * Of a message that is too large to travel: ends the jobs that calls of the turn wait for. Undefined where it has nothing to do with
 * such calls.
 *
 * @throws InvalidTurn where it says more than that.
 */
export async function recordLargeResponses(
  context: ClientContext,
  { names, uploaded }: OutgoingTurn,
  content: Content,
  carriesState: boolean,
): Promise<RespondedTurn | undefined> {
  const { store } = context;
  const waiting = await waitingJobs(store, names, content);
  const [first] = waiting;
  if (store === undefined || first === undefined) return undefined;
  // Of a run that was terminated nobody goes on: the turn that begins with the message tells what it says.
  if ((await openRun(context.temporal, names.workflowId)) === undefined) return undefined;
  // No turn may find it there and begin with it.
  if (uploaded) await store.messages.forgetUpload(names.session, names.messageId);
  if (!isResponsesOnly(content) || waiting.length < (content.parts ?? []).length) {
    throw new InvalidTurn(
      'sendMessage: message: what calls wait for goes in a message of its own, or all of it in at most 64 KiB of JSON',
    );
  }
  if (carriesState) throw stateRefused();
  const jobs: JobReceipt[] = [];
  const message = jobMessage(names, content, undefined);
  for (const { job, said } of waiting) {
    await store.jobs.keepAnswer(job, message);
    jobs.push(await record(context, store, job, said));
  }
  const invocationId = await rootInvocationOf(context, names, first.job.invocationId);
  const receipt = {
    v: PROTOCOL_VERSION,
    messageId: names.messageId,
    invocationId,
    status: 'running',
    jobs,
  } as const;
  return { turn: await waitingTurn(context, names, invocationId), receipt: { ...receipt, confirmed: true } };
}

async function record(
  context: ClientContext,
  store: Store,
  { jobId, callKey }: JobRow,
  { response = {}, willContinue }: FunctionResponse,
): Promise<JobReceipt> {
  const named = { v: PROTOCOL_VERSION, jobId, callKey };
  if (willContinue) {
    const { job } = await store.jobs.progress({ jobId, intermediate: response });
    if (job.status === 'running') return { ...named, status: 'updated', job: job.status };
    const reason = 'the job has ended: an update says nothing any more';
    return { ...named, status: 'refused', job: job.status, reason };
  }
  const failed = 'error' in response;
  const status = failed ? 'failed' : 'completed';
  const ended = await store.jobs.end({ jobId, status, outcome: { response, failed }, by: 'message' });
  await tellOfEnd(context, store, ended.job);
  const told = ended.first ? (ended.repeated ? 'duplicate' : 'ended') : 'known';
  return { ...named, status: told, job: ended.job.status };
}

interface WaitingCall {
  job: JobRow;
  said: FunctionResponse;
}

/**
 * A response to a call that waits is no event of its own, which could carry state.
 *
 * @throws InvalidTurn
 */
async function refuseState({ store, temporal }: ClientContext, { names, message }: OutgoingTurn) {
  const waiting = await waitingJobs(store, names, contentOf(message));
  if (waiting.length > 0 && (await openRun(temporal, names.workflowId)) !== undefined) throw stateRefused();
}

export function hasState(stateDelta: SendMessage['stateDelta'] | null): boolean {
  return Object.keys(stateDelta ?? {}).length > 0;
}

function stateRefused(): InvalidTurn {
  return new InvalidTurn(
    'sendMessage: stateDelta: what calls wait for is no event that could carry state: send that with a message of its own',
  );
}

/** Jobs that calls of a turn wait for, of the responses of a message. */
async function waitingJobs(
  store: Store | undefined,
  { session }: TurnNames,
  content: Content | undefined,
): Promise<WaitingCall[]> {
  const responses = (content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);
  if (store === undefined || responses.length === 0) return [];
  const running = await store.jobs.list({ ...session, limit: MOST_LISTED });
  const waiting = running.filter(({ mode }) => mode !== 'detached');
  return responses.flatMap((said) => {
    const job =
      waiting.find(({ callKey }) => `${OWN_CALL_ID_PREFIX}${callKey}` === said.id) ??
      waiting.findLast(({ callId }) => callId === said.id);
    return job === undefined ? [] : [{ job, said }];
  });
}

function contentOf(message: SendMessage | undefined): Content | undefined {
  const content = message?.message;
  return typeof content === 'string' ? undefined : content;
}
