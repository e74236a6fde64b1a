import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { sessionOfInvocation } from '../../src/protocol/identity.ts';
import { messageDigest } from '../../src/protocol/message.ts';
import type { FirstStep, PlannedCall } from '../../src/protocol/step.ts';
import type {
  AgentTurnStart,
  RunningCall,
  TurnResult,
  TurnState,
  TurnStatus,
} from '../../src/protocol/turn.ts';
import { HeldQuestions } from '../approvals/held-questions.ts';
import { waitingRequest } from '../approvals/request-book.ts';
import { Requests } from '../approvals/requests.ts';
import { InlineCalls } from '../calls/inline-calls.ts';
import { Children, isWaiting, WAITS } from '../children/children.ts';
import { Forwarding } from '../children/forwarding.ts';
import { Jobs } from '../jobs/jobs.ts';
import { Mailbox } from '../messages/mailbox.ts';
import { startToRemember } from '../remember-session.ts';
import { currentStep, describeTurn } from './describe-turn.ts';
import { labelRun } from './search-attributes.ts';
import { Steering } from './steering.ts';
import type { ChainState, InvocationState } from './turn-state.ts';

const INTERRUPTED_BY_MESSAGE = 'cancelled: interrupted by a new message';

/** A turn, of a root agent or of one below: what its invocations have in common, and how it stands. */
export class Turn {
  readonly start: AgentTurnStart;
  readonly chain: ChainState;
  /** The ids of all agents of the turn begin with it. */
  readonly rootWorkflowId: string;
  readonly steering = new Steering();
  readonly inline = new InlineCalls(this.steering);
  readonly mailbox: Mailbox;
  readonly requests: Requests;
  readonly held: HeldQuestions;
  readonly jobs: Jobs;
  readonly children: Children;
  readonly forwarding: Forwarding;
  readonly #running: RunningCall[] = [];
  /** The invocation under way, or the last one. */
  #latest: InvocationState | undefined;
  #result: TurnResult['status'] | undefined;
  /** The invocation after which the session was added to the memory. */
  #remembered: string | undefined;

  constructor(start: AgentTurnStart, chain: ChainState) {
    const { workflowId } = workflowInfo();
    const { app, userId, sessionId, child } = start;
    const note = (text: string) => this.note(text);
    const owner = { app, userId, sessionId, workflowId, session: () => this.#latest?.session, note };
    this.start = start;
    this.chain = chain;
    this.rootWorkflowId = child?.rootWorkflowId ?? workflowId;
    this.#latest = chain.current;
    this.mailbox = new Mailbox(chain.mailbox, {
      ...{ app, userId, sessionId },
      startedAt: () => chain.startedAt,
      current: () => {
        const { current } = chain;
        return current && { invocationId: current.invocationId, digest: this.#digestOf(current) };
      },
      interrupt: () => {
        if (chain.current === undefined) return;
        this.steering.end({ status: 'interrupted', cutOff: INTERRUPTED_BY_MESSAGE });
      },
    });
    chain.requests ??= {};
    this.requests = new Requests(chain.requests, owner);
    this.held = new HeldQuestions(this.requests);
    this.jobs = new Jobs(owner);
    this.children = new Children(this.rootWorkflowId);
    this.forwarding = new Forwarding({
      rootWorkflowId: this.rootWorkflowId,
      children: this.children,
      requests: this.requests,
      ownRunKey: () => child?.runKey ?? chain.current?.invocationId,
    });
    // Temporal keeps the details as they are, and makes JSON of them when somebody looks: no task has to write them.
    setCurrentDetails({ toJSON: () => this.#details } as unknown as string);
  }

  /** Its state while it runs. */
  get work(): TurnState {
    return stateOfWork(this.#running, this);
  }

  get state(): TurnStatus['status'] {
    return this.#result ?? this.work;
  }

  /** State for the search attributes of the run, which never show its end. */
  get label(): TurnState {
    return this.#result === undefined ? this.work : 'running';
  }

  /** Id of the current or last invocation; empty before the first one. */
  get invocationId(): string {
    return this.#latest?.invocationId ?? '';
  }

  get status(): TurnStatus {
    const latest = this.#latest;
    const doing = this.#doing();
    return {
      v: PROTOCOL_VERSION,
      status: this.state,
      agent: latest?.agent,
      step: latest === undefined ? 0 : currentStep(latest, doing),
      invocationId: this.invocationId,
      since: latest?.beganAt,
      running: doing.running,
      waiting: doing.pending.map(waitingRequest),
      jobs: doing.jobs,
      ...(doing.children.length === 0 ? {} : { children: doing.children }),
      queued: this.mailbox.waiting,
      usage: latest?.usage ?? { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
    };
  }

  /** How it stands, for operators. */
  get #details(): string {
    const { app, userId, child } = this.start;
    const session =
      child === undefined
        ? this.rootWorkflowId
        : sessionOfInvocation({ app, userId, rootWorkflowId: this.rootWorkflowId }, this.invocationId);
    return describeTurn(session, this.state, this.#latest, this.mailbox, this.#doing());
  }

  /** For an operator to read. */
  note(text: string): void {
    this.mailbox.note(text);
  }

  /** A signal has no answer: its handler's error is noted. Thrown, it would stop the workflow for ever. */
  noted(handle: () => unknown): void {
    try {
      handle();
    } catch (error) {
      this.note(error instanceof Error ? error.message : String(error));
    }
  }

  /** An invocation begins, or goes on in this run. */
  begins(invocation: InvocationState): void {
    this.#latest = invocation;
    this.jobs.begin(invocation.jobs);
  }

  /** The first step of the invocation under way has answered. */
  begun(invocation: InvocationState, told: FirstStep): void {
    labelRun(this.start, invocation, told, this.chain);
    if (told.transcript !== undefined) invocation.transcript = told.transcript;
    // An agent below another one takes no messages, and its parent knows when the chain has begun.
    if (this.start.child !== undefined) return;
    if (told.inbox !== undefined) this.mailbox.takeUp(told.inbox);
    if (told.remembers) this.chain.remembers = true;
    if (told.startedAt === undefined) return;
    this.chain.startedAt = told.startedAt;
    invocation.chainStartedAt = told.startedAt;
  }

  callStarted({ callKey, tool }: Pick<PlannedCall, 'callKey' | 'tool'>): void {
    this.#running.push({ callKey, tool, since: Date.now() });
  }

  callEnded({ callKey }: Pick<PlannedCall, 'callKey'>): void {
    const index = this.#running.findIndex((call) => call.callKey === callKey);
    this.#running.splice(index, 1);
  }

  /** No call runs any more. */
  callsCutOff(): void {
    this.#running.length = 0;
    this.inline.answered();
  }

  ends(status: TurnResult['status']): void {
    this.#result = status;
  }

  /**
   * Has the session added to the memory where the app has one. Others may send messages meanwhile: look for them after this.
   *
   * @returns whether this has waited.
   */
  async remember(): Promise<boolean> {
    const { invocationId } = this;
    if (!this.chain.remembers || this.#remembered === invocationId) return false;
    this.#remembered = invocationId;
    await startToRemember(this.start, invocationId);
    return true;
  }

  /**
   * Waits until what was accepted is in the store, and each update is answered; also while the run is being cancelled.
   *
   * @param isBusy there is other work to do, after which this is asked for again.
   */
  async handled(isBusy: () => boolean = () => false): Promise<void> {
    const { requests } = this;
    await CancellationScope.nonCancellable(async () => {
      if (requests.isNotifyingEnds) await requests.endsNotified(isBusy);
      while (!this.#isHandled()) await condition(() => this.#isHandled());
    });
  }

  /** Between two steps: goes on in another run where the history has grown long. */
  async continueWhereSuggested(): Promise<void> {
    if (!workflowInfo().continueAsNewSuggested) return;
    await this.handled();
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('CANCELLED');
    const { current } = this.chain;
    if (current !== undefined) {
      current.digest = this.#digestOf(current);
      current.jobs = this.jobs.endedJobs;
    }
    await continueAsNew<(start: AgentTurnStart, chain: ChainState) => Promise<TurnResult>>(
      withoutMessage(this.start),
      this.chain,
    );
  }

  #doing() {
    const running = this.#running.map((call) => {
      const progress = this.jobs.progressOf(call.callKey);
      return progress === undefined ? call : { ...call, progress };
    });
    return {
      ...{ running: [...running, ...this.inline.running], step: this.inline.step },
      pending: this.requests.pending,
      jobs: this.jobs.waiting,
      children: this.children.running,
    };
  }

  #isHandled(): boolean {
    const { mailbox, requests, jobs, forwarding } = this;
    return [mailbox, requests, jobs, forwarding].every(({ finished }) => finished) && allHandlersFinished();
  }

  /** Computed once it is asked for: the messages of most turns are never sent again. */
  #digestOf(current: InvocationState): string | undefined {
    const { message, stateDelta } = this.start;
    if (current.digest === undefined && current.number === 1 && message !== undefined) {
      current.digest = messageDigest(message, stateDelta);
    }
    return current.digest;
  }
}

/** The message went into the store with the first step; only its size would cross to the next run. */
function withoutMessage({
  message: _message,
  stateDelta: _delta,
  stored: _stored,
  traceparent: _traceparent,
  ...start
}: AgentTurnStart): AgentTurnStart {
  return start;
}

/**
 * The state of a running turn. It waits for people only if nothing runs, but for activities that hold a question open, and for jobs
 * only if it waits for no person.
 */
function stateOfWork(running: readonly RunningCall[], { requests, jobs, children }: Turn): TurnState {
  const states = children.running.map(({ status }) => status);
  const asks = (callKey: string) => requests.pending.some(({ call }) => call.callKey === callKey);
  if (running.some(({ callKey }) => !children.waitsFor(callKey) && !asks(callKey))) return 'running';
  if (states.some((state) => !isWaiting(state))) return 'running';
  const wait = WAITS.find(
    ([kind, state]) => requests.pending.some(({ gate }) => gate.kind === kind) || states.includes(state),
  );
  return wait?.[1] ?? (jobs.waiting.length > 0 || states.includes('waiting_job') ? 'waiting_job' : 'running');
}
