import type { WorkflowInfo } from '@temporalio/workflow';
import type { TurnUsage } from '../../src/contract/sessions.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { ActingAgent, AgentPlan, ChildStart, RanAgent } from '../../src/protocol/agent-run.ts';
import { invocationIdOf, retryIdOf } from '../../src/protocol/identity.ts';
import { isTraceparent } from '../../src/protocol/message.ts';
import type { TurnRunConfig } from '../../src/protocol/run-terms.ts';
import type { AgentTurnStart, OtherInvocation, TurnResult, TurnState } from '../../src/protocol/turn.ts';
import type { ClosedRequests } from '../approvals/request-book.ts';
import type { EndedJobs } from '../jobs/job-book.ts';
import type { MailboxState, QueuedMessage } from '../messages/mailbox.ts';
import type { OrderBook } from './orders.ts';

/** Where an invocation stands: everything that its next step needs and nothing that the store knows. */
export interface InvocationState {
  messageId: string;
  invocationId: string;
  /** Start of the chain's first run, milliseconds since the epoch. */
  chainStartedAt: number;
  /** Number of the invocation within the chain, from 1. */
  number: number;
  session: string | undefined;
  agent: string | undefined;
  model: string | undefined;
  /** Last step that answered; 0 before the first. */
  step: number;
  /** Last step that was asked for, and may have been recorded. */
  asked: number;
  seq: number;
  from: number;
  usage: TurnUsage;
  /** Digest of the message, once it was needed. */
  digest?: string;
  runConfig?: TurnRunConfig;
  traceparent?: string;
  /** When the message came, milliseconds since the epoch; absent in a child. */
  cameAt?: number;
  /** When the invocation began, milliseconds since the epoch. */
  beganAt: number;
  /** Where people read the transcript. */
  transcript?: string;
  /** When its wall time is used up, milliseconds since the epoch. */
  deadline?: number;
  /** Temporal's priority key for the activities of the message. */
  priority?: number;
  /** Root of the tree that answers where the message names no agent. */
  rootAgent?: string;
  /** Jobs that its calls have waited for. */
  jobs?: EndedJobs;
  /** Run key of a child; that of a root is its invocation's id. */
  runKey?: string;
  /** Where the acting agent is found, and whose child it is. */
  acting?: ActingAgent;
  /** The agents that have transferred the turn, in order. */
  handedOnBy?: string[];
  /** The acting agent has not been asked since the turn was transferred to it. */
  enters?: true;
  /** One of its events, or of those of its children, has asked a loop to stop. */
  escalated?: true;
  /** Outcomes of the latest plan's agents. */
  ran?: RanAgent[];
  /** Calls and steps that ran in the activity of the last step, for the summary of the next one. */
  before?: string | undefined;
  /** A plan that was begun: how many of its agents, and rounds, have run. */
  planned?: PlanProgress;
}

/** Our name of the run of the acting agent. */
export function runKeyOf({ runKey, invocationId }: InvocationState): string {
  return runKey ?? invocationId;
}

/** Names of the agents from the root to the one that acts, to which the one that it began with may have transferred the turn. */
export function pathOf({ acting, agent, handedOnBy }: InvocationState): readonly string[] {
  const path = acting?.path ?? handedOnBy?.slice(0, 1) ?? [];
  return agent === undefined || path.at(-1) === agent ? path : [...path, agent];
}

/** The message's run config; that of a chain's first message travels in the start arguments. */
export function runConfigOf(start: AgentTurnStart, state: InvocationState): TurnRunConfig | undefined {
  return state.runConfig ?? (state.number === 1 ? start.runConfig : undefined);
}

/** How far a plan has got whose agents run one after another. */
export interface PlanProgress {
  plan: AgentPlan;
  /** From 0. */
  index: number;
  /** Number of a loop's iteration, from 1. */
  iteration: number;
  ran: RanAgent[];
}

/** The state that a chain carries from run to run. */
export interface ChainState extends OrderBook {
  v: number;
  startedAt: number;
  /** Number of the newest invocation. */
  invocations: number;
  /** Last seq of the transcript that the chain has seen; absent before an invocation of it has ended. */
  seq?: number;
  /** Absent between two invocations. */
  current?: InvocationState;
  /** The invocation that the chain began with, where it waits for others to be answered, or did. */
  gaveWay?: string;
  /** The outcome of the chain's first invocation. */
  first?: TurnResult;
  others: OtherInvocation[];
  mailbox: MailboxState;
  /** Invocations of messages that wait, which are to end as soon as they begin, and what their calls would be told. */
  withdrawn?: Record<string, string>;
  /** The run's status in its search attribute; absent where the server has no such attribute. */
  label?: TurnState;
  /** Requests that have ended, by request id; the newest ones. */
  requests?: ClosedRequests;
  /** The app remembers what is said. */
  remembers?: true;
}

/** Enough for all that wait: clients find older ones in the store. */
const MOST_OTHERS = 256;

export function initialChain(start: AgentTurnStart, info: WorkflowInfo): ChainState {
  const startedAt = info.startTime.getTime();
  const chain: ChainState = {
    v: PROTOCOL_VERSION,
    startedAt,
    invocations: 0,
    others: [],
    mailbox: { queue: [], ended: {}, notes: [], places: 0 },
  };
  if (start.message === undefined && start.stored === undefined && start.retryOf === undefined) return chain;
  // A reset changes the run id; the message must stay the same message.
  const messageId = start.messageId ?? info.originalExecutionRunId;
  const { retryOf } = start;
  beginInvocation(chain, {
    messageId,
    invocationId: retryOf
      ? retryIdOf(retryOf.invocationId, retryOf.generation)
      : invocationIdOf(start.app, start.userId, start.sessionId, messageId),
    agent: start.agent,
    runConfig: start.runConfig,
    digest: start.stored?.digest,
    traceparent: start.traceparent,
    cameAt: startedAt,
    priority: start.priority,
    rootAgent: start.rootAgent,
  });
  return chain;
}

/** That of a child, whose only invocation is its parent's, or that of its own session. */
export function childChain({
  child,
  priority,
  runConfig,
  traceparent,
}: AgentTurnStart & { child: ChildStart }): ChainState {
  const { agent, branch, call, fence, invocationId, path, rootWorkflowId, runKey, seq, session } = child;
  const startedAt = fence.startedAt;
  const state: InvocationState = {
    messageId: runKey,
    invocationId: call === undefined ? invocationId : runKey,
    runKey,
    chainStartedAt: startedAt,
    number: fence.invocation,
    session: call === undefined ? session : undefined,
    agent: agent.name,
    model: undefined,
    step: 0,
    asked: 0,
    seq,
    from: 0,
    usage: { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
    beganAt: Date.now(),
    acting: {
      path,
      rootWorkflowId,
      root: agent.root,
      within: agent.within,
      branch,
      ...{ budget: child.budget, above: child.above, appTerms: child.appTerms },
      tracedBelow: child.tracedBelow,
    },
    ...{ runConfig, traceparent, priority },
  };
  return {
    v: PROTOCOL_VERSION,
    startedAt,
    invocations: fence.invocation,
    current: state,
    others: [],
    mailbox: { queue: [], ended: {}, notes: [], places: 0 },
  };
}

type Beginning = Pick<InvocationState, 'messageId' | 'invocationId'> & {
  [Field in 'agent' | 'runConfig' | 'digest' | 'traceparent' | 'cameAt' | 'priority' | 'rootAgent']?:
    | InvocationState[Field]
    | undefined;
};

export function beginInvocation(chain: ChainState, beginning: Beginning | QueuedMessage): InvocationState {
  const { messageId, invocationId, agent, runConfig, digest, traceparent, cameAt, priority, rootAgent } =
    beginning;
  chain.invocations += 1;
  chain.current = {
    messageId,
    invocationId,
    chainStartedAt: chain.startedAt,
    number: chain.invocations,
    session: undefined,
    agent,
    model: undefined,
    step: 0,
    asked: 0,
    seq: chain.seq ?? 0,
    from: 0,
    usage: { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
    ...{ runConfig, digest, cameAt, priority, rootAgent },
    // A malformed one isn't traced; the turn is none the worse for it.
    traceparent: isTraceparent(traceparent) ? traceparent : undefined,
    beganAt: Date.now(),
  };
  return chain.current;
}

/** Messages that were accepted before go first; the invocation begins again in its turn. */
export function supersede(chain: ChainState): void {
  if (chain.current !== undefined) chain.gaveWay = chain.current.invocationId;
  delete chain.current;
}

export function endInvocation(chain: ChainState, result: TurnResult): void {
  delete chain.current;
  chain.seq = Math.max(chain.seq ?? 0, result.events.to);
  const { gaveWay = result.invocationId } = chain;
  if (chain.first === undefined && result.invocationId === gaveWay) {
    chain.first = result;
    return;
  }
  const { invocationId, status, events } = result;
  chain.others.push({ invocationId, status, events });
  if (chain.others.length > MOST_OTHERS) chain.others.shift();
}

/** The result of the chain's last run. */
export function resultOfChain({ first, others }: ChainState): TurnResult {
  if (first === undefined) throw new Error('a chain ends with its first invocation at the earliest');
  return others.length === 0 ? first : { ...first, others };
}
