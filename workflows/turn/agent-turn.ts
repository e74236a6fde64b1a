import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  continueAsNew,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { JobProgress } from '../../src/protocol/job.ts';
import { type MessageReceipt, messageDigest, type SendMessage } from '../../src/protocol/message.ts';
import { SEND_MESSAGE, TURN_ENDED } from '../../src/protocol/names.ts';
import type { AgentTurnStart, RunningCall, TurnResult, TurnStatus } from '../../src/protocol/turn.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { handleDecisions } from '../approvals/decision-handlers.ts';
import { waitingRequest } from '../approvals/request-book.ts';
import { Requests } from '../approvals/requests.ts';
import { isChild } from '../children/child-arguments.ts';
import { Children } from '../children/children.ts';
import { Forwarding } from '../children/forwarding.ts';
import { handleJobs } from '../jobs/job-handlers.ts';
import { Jobs } from '../jobs/jobs.ts';
import { AnsweredMessages, withoutReplies } from '../messages/answered-messages.ts';
import { Mailbox } from '../messages/mailbox.ts';
import { checkedMessage } from '../messages/message-arguments.ts';
import { childTurn } from './child-turn.ts';
import { currentStep, describeTurn } from './describe-turn.ts';
import { FirstOrder } from './first-order.ts';
import { CancelledInvocation, runInvocation } from './invocation.ts';
import { Orders } from './orders.ts';
import { labelRun } from './search-attributes.ts';
import { checkedCarried, checkedStart, missingMessage } from './start-arguments.ts';
import { Steering } from './steering.ts';
import { turnFailure } from './steps.ts';
import { handleOrders, handleStatus, hearOrders, type SteeredTurn } from './turn-handlers.ts';
import {
  beginInvocation,
  type ChainState,
  endInvocation,
  giveWay,
  type InvocationState,
  initialChain,
  resultOfChain,
} from './turn-state.ts';
import { keepLabelled, stateOfWork } from './waiting-status.ts';

const A_MESSAGE = 'a message to the session: { messageId, message, policy?, agent? }';

const NOTHING_WAITS = 'an answer to a request came with the first message: no request is pending then';
const INTERRUPTED_BY_MESSAGE = 'cancelled: interrupted by a new message';

/**
 * A turn, from a message to its final answer, and those of the messages that come meanwhile: one invocation after another.
 * The history holds their control, the store their content.
 *
 * @param carried what the run before handed on by continue-as-new.
 */
export async function agentTurn(given: AgentTurnStart, handedOn?: ChainState): Promise<TurnResult> {
  const info = workflowInfo();
  const carried = checkedCarried(handedOn, info);
  if (isChild(given)) return await childTurn(given, carried);
  const { start, inVain } = withoutReplies(checkedStart(given, info));
  const chain = carried ?? initialChain(start, info);
  const { app, userId, sessionId } = start;
  const running: RunningCall[] = [];
  const steering = new Steering();
  let latest: InvocationState | undefined = chain.current;
  let status: TurnStatus['status'] = 'running';
  const mailbox = new Mailbox(chain.mailbox, {
    app,
    userId,
    sessionId,
    startedAt: () => chain.startedAt,
    current() {
      if (chain.current === undefined) return undefined;
      return { invocationId: chain.current.invocationId, digest: digestOf(start, chain.current) };
    },
    interrupt() {
      if (chain.current === undefined) return;
      steering.end({ status: 'interrupted', cutOff: INTERRUPTED_BY_MESSAGE });
    },
    changed: () => describe(),
  });
  chain.requests ??= {};
  const requests = new Requests(chain.requests, {
    ...{ app, userId, sessionId, workflowId: info.workflowId },
    session: () => latest?.session,
    changed: () => describe(),
    note: (text) => mailbox.note(text),
  });
  const jobs = new Jobs({
    ...{ app, userId },
    session: () => latest?.session,
    changed: () => describe(),
    note: (text) => mailbox.note(text),
  });
  const children = new Children(info.workflowId, () => describe());
  const forwarding = new Forwarding({
    rootWorkflowId: info.workflowId,
    children,
    requests,
    ownRunKey: () => chain.current?.invocationId,
  });
  const note = (text: string) => mailbox.note(text);
  const messages = new AnsweredMessages(
    { requests, jobs, mailbox, forwarding, note },
    () => latest?.invocationId ?? '',
  );
  const work = () => stateOfWork(running, requests.pending, jobs.waiting, children);
  const state = () => (status === 'running' ? work() : status);
  const runningCalls = () => running.map((call) => withProgress(call, jobs.progressOf(call.callKey)));
  const describe = () =>
    setCurrentDetails(
      describeTurn(info.workflowId, state(), latest, mailbox, {
        running: runningCalls(),
        pending: requests.pending,
        jobs: jobs.waiting,
        children: children.running,
      }),
    );

  const statusOf = (): TurnStatus => ({
    v: PROTOCOL_VERSION,
    status: state(),
    agent: latest?.agent,
    step:
      latest === undefined
        ? 0
        : currentStep(latest, { running, pending: requests.pending, jobs: jobs.waiting }),
    invocationId: latest?.invocationId ?? '',
    ...(latest === undefined ? {} : { since: latest.beganAt }),
    running: runningCalls(),
    waiting: requests.pending.map(waitingRequest),
    jobs: jobs.waiting,
    ...(children.running.length === 0 ? {} : { children: children.running }),
    queued: mailbox.waiting,
    usage: latest?.usage ?? { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
  });
  const steered: SteeredTurn = {
    steering,
    orders: new Orders(chain),
    forwarding,
    current: () => chain.current?.invocationId,
    withdraw(invocationId, cutOff) {
      if (!mailbox.has(invocationId)) return;
      chain.withdrawn = { ...chain.withdrawn, [invocationId]: cutOff };
    },
    noted,
    told: (state) => children.told(state),
  };
  handleStatus(statusOf);
  const order = new FirstOrder();
  setHandler(
    defineSignal<[SendMessage]>(SEND_MESSAGE),
    (given) =>
      order.signalled(() => {
        try {
          messages.signalled(checkedMessage(given));
        } catch (error) {
          mailbox.refused(given, messageOf(error));
        }
      }),
    { description: A_MESSAGE },
  );
  setHandler(
    defineUpdate<MessageReceipt, [SendMessage]>(SEND_MESSAGE),
    (given) => {
      order.updated();
      return messages.updated(checkedMessage(given));
    },
    {
      validator: (given) => messages.check(checkedMessage(given)),
      description: `${A_MESSAGE}; answers what became of it`,
    },
  );
  handleOrders(steered, () => order.updated());
  order.open();
  hearOrders(steered);
  handleDecisions(requests, forwarding);
  handleJobs(jobs, noted);

  /** Nobody reads what a signal's handler throws; what is thrown otherwise would stop the workflow for ever. */
  function noted(handle: () => unknown): void {
    try {
      handle();
    } catch (error) {
      mailbox.note(messageOf(error));
    }
  }

  /** What was accepted is in the store, and who asked has an answer; also while the run is being cancelled. */
  const handled = (isBusy: () => boolean = () => false) =>
    CancellationScope.nonCancellable(async () => {
      if (requests.tellsEnds) await requests.endsTold(isBusy);
      const isSettled = () =>
        [mailbox, requests, jobs, forwarding].every(({ settled }) => settled) && allHandlersFinished();
      while (!isSettled()) await condition(isSettled);
    });
  const continueWhereSuggested = async () => {
    if (!workflowInfo().continueAsNewSuggested) return;
    await handled();
    if (isCancelled()) throw new CancelledFailure('CANCELLED');
    if (chain.current !== undefined) {
      chain.current.digest = digestOf(start, chain.current);
      chain.current.jobs = jobs.endedJobs;
    }
    await continueAsNew<typeof agentTurn>(withoutMessage(start), chain);
  };

  for (let count = 0; count < inVain; count += 1) mailbox.note(NOTHING_WAITS);
  void keepLabelled(chain, () => (status === 'running' ? work() : 'running'));
  for (;;) {
    if (chain.current === undefined) {
      await handled(() => mailbox.waiting > 0 && !isCancelled());
      if (isCancelled() && (chain.first === undefined || mailbox.waiting > 0)) {
        await handled();
        status = 'interrupted';
        throw new CancelledFailure('CANCELLED');
      }
      const next = mailbox.next();
      if (next === undefined) break;
      beginInvocation(chain, next);
    }
    const current = chain.current as unknown as InvocationState;
    latest = current;
    const withdrawn = chain.withdrawn?.[current.invocationId];
    if (withdrawn !== undefined) steering.end({ status: 'interrupted', cutOff: withdrawn });
    jobs.begin(current.jobs);
    const invocation = runInvocation(start, current, {
      running,
      steering,
      requests,
      jobs,
      children,
      changed: describe,
      firstStep(told) {
        labelRun(start, current, told, chain);
        if (told.inbox !== undefined) mailbox.takeUp(told.inbox);
        if (told.transcript !== undefined) current.transcript = told.transcript;
        if (told.startedAt !== undefined) {
          chain.startedAt = told.startedAt;
          current.chainStartedAt = told.startedAt;
        }
      },
      betweenSteps: continueWhereSuggested,
    });
    const ended = await onFailure(invocation, () => handled());
    if (withdrawn !== undefined) delete chain.withdrawn?.[current.invocationId];
    if ('inbox' in ended) {
      giveWay(chain);
      mailbox.takeUp(ended.inbox, current);
      continue;
    }
    if (ended instanceof CancelledInvocation) {
      await handled();
      const { recorded, error } = ended;
      const hasEnded = recorded !== undefined && recorded.status !== 'interrupted';
      if (hasEnded) endInvocation(chain, recorded);
      // Its own message may yet wait in the store.
      if (!hasEnded || chain.first === undefined) {
        status = 'interrupted';
        describe();
        throw error;
      }
      break;
    }
    mailbox.ended(current.invocationId, current.digest);
    endInvocation(chain, ended);
    if (mailbox.waiting > 0 && chain.first === ended) await tellStarter(ended);
    if (mailbox.waiting > 0 && !isCancelled()) await continueWhereSuggested();
  }

  if (chain.first === undefined) throw missingMessage();
  const result = resultOfChain(chain);
  status = result.status;
  describe();
  if (result.status === 'failed') throw turnFailure(result);
  return result;
}

/** The workflow that has started the run need not wait for the turns of others, which follow. */
async function tellStarter(result: TurnResult): Promise<void> {
  const { parent } = workflowInfo();
  if (parent === undefined) return;
  try {
    const { workflowId, runId } = parent;
    await CancellationScope.nonCancellable(() =>
      getExternalWorkflowHandle(workflowId, runId).signal(TURN_ENDED, result),
    );
  } catch {
    // It has closed, or has gone on in another run, which waits for no turn.
  }
}

function withProgress(call: RunningCall, progress: JobProgress | undefined): RunningCall {
  return progress === undefined ? call : { ...call, progress };
}

function isCancelled(): boolean {
  return CancellationScope.current().consideredCancelled;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What was accepted is in the store before the run is gone. */
async function onFailure<T>(work: Promise<T>, before: () => Promise<void>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ContinueAsNew)) await before();
    throw error;
  }
}

/** Computed for those who ask only: most turns have nobody who sends their message again. */
function digestOf(start: AgentTurnStart, current: InvocationState): string | undefined {
  if (current.digest === undefined && current.number === 1 && start.message !== undefined) {
    current.digest = messageDigest(start.message, start.stateDelta);
  }
  return current.digest;
}

/** The message went into the store with the first step; only its size would cross to the next run. */
function withoutMessage({
  message: _message,
  stateDelta: _delta,
  stored: _stored,
  traceparent: _traceparent,
  ...start
}: AgentTurnStart) {
  return start;
}
