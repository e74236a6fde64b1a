import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { ChildState } from '../../src/protocol/agent-run.ts';
import { sessionOfInvocation } from '../../src/protocol/identity.ts';
import type { RunningCall, TurnResult, TurnStatus } from '../../src/protocol/turn.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { handleDecisions } from '../approvals/decision-handlers.ts';
import { waitingRequest } from '../approvals/request-book.ts';
import { Requests } from '../approvals/requests.ts';
import { type ChildTurnStart, checkedChild } from '../children/child-arguments.ts';
import { Children } from '../children/children.ts';
import { Forwarding } from '../children/forwarding.ts';
import { tellParent } from '../children/tell-parent.ts';
import { handleJobs } from '../jobs/job-handlers.ts';
import { Jobs } from '../jobs/jobs.ts';
import { handleReplies } from '../messages/reply-handlers.ts';
import type { agentTurn } from './agent-turn.ts';
import { currentStep, describeTurn } from './describe-turn.ts';
import { CancelledInvocation, runInvocation } from './invocation.ts';
import { Orders } from './orders.ts';
import { labelRun } from './search-attributes.ts';
import { Steering } from './steering.ts';
import { turnFailure } from './steps.ts';
import { handleOrders, handleStatus, hearOrders } from './turn-handlers.ts';
import {
  type ChainState,
  childChain,
  endInvocation,
  type InvocationState,
  resultOfChain,
} from './turn-state.ts';
import { keepLabelled, stateOfWork } from './waiting-status.ts';

const MOST_NOTES = 8;

/** The turn of an agent below another one: one invocation, which takes no messages. */
export async function childTurn(given: ChildTurnStart, carried?: ChainState): Promise<TurnResult> {
  const info = workflowInfo();
  const start = checkedChild(given, info);
  const { app, userId, sessionId, child } = start;
  const chain = carried ?? childChain(start);
  const current = chain.current as InvocationState;
  const running: RunningCall[] = [];
  const notes: string[] = [];
  const steering = new Steering();
  const note = (text: string) => {
    notes.push(text);
    if (notes.length > MOST_NOTES) notes.shift();
    describe();
  };
  const owner = { session: () => current.session, changed: () => describe(), note };
  chain.requests ??= {};
  const requests = new Requests(chain.requests, {
    app,
    userId,
    sessionId,
    workflowId: info.workflowId,
    ...owner,
  });
  const jobs = new Jobs({ app, userId, ...owner });
  const children = new Children(child.rootWorkflowId, () => describe());
  const forwarding = new Forwarding({
    rootWorkflowId: child.rootWorkflowId,
    children,
    requests,
    ownRunKey: () => child.runKey,
  });
  let status: TurnStatus['status'] = 'running';
  const work = () => stateOfWork(running, requests.pending, jobs.waiting, children);
  const state = () => (status === 'running' ? work() : status);
  const doing = () => ({
    running,
    pending: requests.pending,
    jobs: jobs.waiting,
    children: children.running,
  });
  const session = sessionOfInvocation(
    { app, userId, rootWorkflowId: child.rootWorkflowId },
    current.invocationId,
  );
  const describe = () =>
    setCurrentDetails(
      describeTurn(session, state(), current, { waiting: 0, state: { ...chain.mailbox, notes } }, doing()),
    );
  const noted = (handle: () => unknown) => {
    try {
      handle();
    } catch (error) {
      note(error instanceof Error ? error.message : String(error));
    }
  };
  handleStatus(() => ({
    v: PROTOCOL_VERSION,
    status: state(),
    agent: current.agent,
    step: currentStep(current, doing()),
    invocationId: current.invocationId,
    since: current.beganAt,
    running,
    waiting: requests.pending.map(waitingRequest),
    jobs: jobs.waiting,
    ...(children.running.length === 0 ? {} : { children: children.running }),
    queued: 0,
    usage: current.usage,
  }));
  const steered = {
    steering,
    orders: new Orders(chain),
    forwarding,
    current: () => chain.current?.invocationId,
    noted,
    told: (given: ChildState) => children.told(given),
  };
  handleOrders(steered);
  hearOrders(steered);
  handleReplies(
    { requests, jobs, forwarding, note },
    { rootWorkflowId: child.rootWorkflowId, invocationId: current.invocationId },
  );
  handleDecisions(requests, forwarding);
  handleJobs(jobs, noted);

  const handled = () =>
    CancellationScope.nonCancellable(async () => {
      if (requests.tellsEnds) await requests.endsTold();
      const isSettled = () =>
        [requests, jobs, forwarding].every(({ settled }) => settled) && allHandlersFinished();
      while (!isSettled()) await condition(isSettled);
    });
  void keepLabelled(chain, () => (status === 'running' ? work() : 'running'));
  void tellParent(child, { state, requests, jobs, children });
  jobs.begin(current.jobs);
  const ended = await runInvocation(start, current, {
    running,
    steering,
    requests,
    jobs,
    children,
    changed: describe,
    firstStep(told) {
      labelRun(start, current, told, chain);
      if (told.transcript !== undefined) current.transcript = told.transcript;
    },
    async betweenSteps() {
      if (!workflowInfo().continueAsNewSuggested) return;
      await handled();
      if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('CANCELLED');
      current.jobs = jobs.endedJobs;
      await continueAsNew<typeof agentTurn>(start, chain);
    },
  });
  await handled();
  if ('inbox' in ended) throw new Error('a child gives way to no message');
  if (ended instanceof CancelledInvocation) {
    const { recorded, error } = ended;
    if (recorded === undefined || recorded.status === 'interrupted') {
      status = 'interrupted';
      describe();
      throw error;
    }
    endInvocation(chain, recorded);
  } else {
    endInvocation(chain, ended);
  }
  const result = resultOfChain(chain);
  status = result.status;
  describe();
  if (result.status === 'failed') throw turnFailure(result);
  return result;
}
