import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  scheduleActivity,
} from '@temporalio/workflow';
import type { JobName, JobProgress, JobProgressed, JobReceipt } from '../../src/contract/jobs.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { FunctionResponse } from '../../src/events/content.ts';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import { callKeyOfId, jobIdOf, OWN_CALL_ID_PREFIX, stepKeyOf } from '../../src/protocol/identity.ts';
import type { AwaitedJob, JobMessage, RecordJobInput, WaitingJob } from '../../src/protocol/job.ts';
import { RECORD_JOB, UNKNOWN_JOB } from '../../src/protocol/names.ts';
import type { PlannedCall } from '../../src/protocol/step.ts';
import { recordJobOptions, turnPriority, type User, usable } from '../activities.ts';
import { type BookedCall, type EndedJobs, JobBook, listed, newerOf, waitingJob } from './job-book.ts';
import type { JobWait } from './job-wait.ts';

/** The turn whose calls have jobs. */
export interface JobOwner extends User {
  /** The store's id of the session, once it is known. */
  session(): string | undefined;
  /** For an operator to read. */
  note(text: string): void;
}

type Call = Pick<PlannedCall, 'callKey' | 'callId' | 'tool'>;

/** A message's response to a job, with the message. */
interface Told {
  said: FunctionResponse;
  message: JobMessage;
}

const MOST_KEPT = 64;
const NO_CALL = 'its call has ended without a job';

/** The jobs of a turn, their outcomes, and messages about them. */
export class Jobs {
  readonly #owner: JobOwner;
  readonly #recorder: JobRecorder;
  #book = new JobBook({});
  /** Prefixes of call ids that the current step may plan. */
  #step: string | undefined;
  /** Responses to calls that have no job so far, in the order in which they came. */
  #kept: { callKey: string; told: Told }[] = [];

  constructor(owner: JobOwner) {
    this.#owner = owner;
    this.#recorder = new JobRecorder(owner);
  }

  get waiting(): WaitingJob[] {
    return this.#book.parked.map(waitingJob);
  }

  /** No end of a job is on its way to the store. */
  get finished(): boolean {
    return this.#recorder.finished;
  }

  progressOf(callKey: string): JobProgress | undefined {
    return this.#book.get(callKey)?.progress;
  }

  /** Jobs that calls of the invocation have waited for: what the next run is to know. */
  get endedJobs(): EndedJobs {
    return this.#book.ended;
  }

  /** An invocation begins, or goes on in this run. */
  begin(ended: EndedJobs = {}): void {
    this.#book = new JobBook(ended);
  }

  /** The invocation is over: from now on messages that tell of its jobs go to the session. */
  over(): void {
    this.#book = new JobBook({});
    this.planned([]);
  }

  /** A step is asked for. */
  asking(runKey: string, step: number): void {
    this.#step = `${OWN_CALL_ID_PREFIX}${stepKeyOf(runKey, step)}.`;
  }

  /** The calls of the step are known; there are none where it has failed or ended the turn. */
  planned(calls: readonly Call[]): void {
    this.#step = undefined;
    for (const call of calls) this.#book.plan(call);
    for (const callKey of new Set(this.#kept.map((kept) => kept.callKey))) {
      if (this.#book.get(callKey) === undefined) this.#noteUnknownCall(callKey);
    }
  }

  /** The call waits for its job from now on. */
  parked(call: Call, { jobId }: AwaitedJob, wait: JobWait): void {
    const booked = this.#booked(call);
    booked.phase = 'parked';
    booked.parked = { jobId, since: Date.now(), wait };
    this.#tellKept(booked);
  }

  /** Its tool runs again, to ask a person, and its job goes on. */
  resumed(call: Call): void {
    const booked = this.#booked(call);
    booked.phase = 'open';
    delete booked.parked;
  }

  /** Its job has ended, or is to: a message that tells of it now is answered with how it has ended. */
  ending(call: Call): void {
    this.#booked(call).phase = 'ending';
  }

  /** The job goes on without the turn. */
  detached({ callKey }: Pick<Call, 'callKey'>): void {
    const call = this.#book.get(callKey);
    if (call === undefined) return;
    this.#book.detach(call);
    this.#tellKept(call);
  }

  /** The call has ended. */
  ended({ callKey }: Pick<Call, 'callKey'>): void {
    const call = this.#book.get(callKey);
    if (call === undefined) return;
    this.#book.end(call);
    this.#noteUnknownCall(callKey);
  }

  /** Whether a response of this id is one to a call that has a job, or may have one. */
  knows(id: string): boolean {
    return this.#isExpected(id) || this.#book.fitting(id).length > 0;
  }

  /** Records what a message says of a job; what is wrong with it is in the answer. */
  async respond(said: FunctionResponse, message: JobMessage): Promise<JobReceipt> {
    const { id = '' } = said;
    const told = { said, message };
    if (this.#isExpected(id)) return this.#keep({ callKey: callKeyOfId(id) ?? '' }, told);
    const fitting = this.#book.fitting(id);
    const [call, another] = fitting;
    if (call === undefined) return this.#receipt({ callKey: '' }, 'refused', `no call ${id} waits for a job`);
    if (another !== undefined) {
      const reason = `several calls have this id, name one by its own, adk-…: ${listed(fitting)}`;
      return this.#receipt({ callKey: '' }, 'refused', reason);
    }
    return await this.#record(call, told);
  }

  /** A signal has no answer: the reason why it changes nothing is noted. */
  signalled(said: FunctionResponse, message: JobMessage): void {
    void this.respond(said, message).then(({ status, reason = '' }) => {
      if (status === 'refused') this.#owner.note(`response to ${said.id} refused: ${reason}`);
    });
  }

  progressed({ jobId, progress }: Pick<JobProgressed, 'jobId' | 'progress'>): void {
    const session = this.#owner.session() ?? '';
    const call = this.#book.calls.find(
      ({ phase, parked, callKey }) =>
        phase !== 'ended' && (parked?.jobId ?? jobIdOf(session, callKey)) === jobId,
    );
    if (call === undefined) return;
    call.progress = newerOf(call.progress, progress);
  }

  /** @throws ApplicationFailure of type `NotPending`, or `AmbiguousJob` */
  check(name: JobName): void {
    this.#book.find(name);
  }

  /**
   * Ends a job now as if its time were over.
   *
   * @throws as {@link check}
   */
  expireNow(name: JobName): void {
    this.#book.find(name).parked.wait.expire();
  }

  #booked(call: Call): BookedCall {
    const booked = this.#book.get(call.callKey);
    if (booked === undefined) throw new Error(`call ${call.callKey} is not planned`);
    return booked;
  }

  #isExpected(id: string): boolean {
    return this.#step !== undefined && id.startsWith(this.#step);
  }

  async #record(call: BookedCall, told: Told): Promise<JobReceipt> {
    const session = this.#owner.session();
    if (session === undefined) return this.#keep(call, told);
    const { callKey } = call;
    const hadJob = hasJob(call);
    const jobId = call.parked?.jobId ?? jobIdOf(session, callKey);
    const { said, message } = told;
    const { response = {}, willContinue } = said;
    const recorded = await this.#recorder.record({
      v: PROTOCOL_VERSION,
      session,
      callKey,
      jobId,
      response,
      ...(willContinue === true ? { willContinue } : {}),
      message,
    });
    if (recorded.kind === 'receipt') return recorded.receipt;
    if (recorded.kind === 'failed') return this.#receipt(call, 'refused', recorded.reason);
    // Its tool has not begun, or nobody knew before it ran that it has a job.
    if (!hadJob && hasJob(call)) return await this.#record(call, told);
    const isOpen = call.phase === 'open' && this.#book.get(callKey) === call;
    return isOpen && !hadJob ? this.#keep(call, told) : this.#receipt(call, 'refused', NO_CALL);
  }

  #keep(call: Pick<BookedCall, 'callKey' | 'parked'>, told: Told): JobReceipt {
    const reason = 'too many responses to calls that have no job so far: send it again later';
    if (this.#kept.length >= MOST_KEPT) return this.#receipt(call, 'refused', reason);
    this.#kept.push({ callKey: call.callKey, told });
    return this.#receipt(call, 'kept');
  }

  #take(callKey: string): Told[] {
    const taken = this.#kept.filter((kept) => kept.callKey === callKey);
    if (taken.length > 0) this.#kept = this.#kept.filter((kept) => kept.callKey !== callKey);
    return taken.map(({ told }) => told);
  }

  #tellKept(call: BookedCall): void {
    for (const told of this.#take(call.callKey)) {
      void this.#record(call, told).then(({ status, reason = '' }) => {
        if (status === 'refused') this.#owner.note(`response to ${told.said.id} refused: ${reason}`);
      });
    }
  }

  #noteUnknownCall(callKey: string): void {
    for (const { said } of this.#take(callKey)) {
      this.#owner.note(`response to ${said.id} refused: ${NO_CALL}`);
    }
  }

  #receipt(
    { callKey, parked }: Pick<BookedCall, 'callKey' | 'parked'>,
    status: JobReceipt['status'],
    reason?: string,
  ): JobReceipt {
    const session = this.#owner.session();
    const jobId = parked?.jobId ?? (session === undefined || callKey === '' ? '' : jobIdOf(session, callKey));
    return { v: PROTOCOL_VERSION, jobId, callKey, status, job: 'running', reason };
  }
}

function hasJob({ parked, detached }: BookedCall): boolean {
  return parked !== undefined || detached === true;
}

export type RecordedJob =
  | { kind: 'receipt'; receipt: JobReceipt }
  | { kind: 'unknown' }
  | { kind: 'failed'; reason: string };

/** Tells the store what messages say of jobs: of one job in their order. */
export class JobRecorder {
  readonly #user: User;
  readonly #latest = new Map<string, Promise<RecordedJob>>();
  #under = 0;

  constructor(user: User) {
    this.#user = user;
  }

  /** No write to the store is under way. */
  get finished(): boolean {
    return this.#under === 0;
  }

  /** Never rejects. */
  async record(input: RecordJobInput): Promise<RecordedJob> {
    const { callKey } = input;
    this.#under += 1;
    const before = this.#latest.get(callKey);
    // Also while the run is being cancelled: the sender gets a receipt.
    const recorded = CancellationScope.nonCancellable(async () => {
      await before;
      return await this.#record(input);
    });
    this.#latest.set(callKey, recorded);
    try {
      return await recorded;
    } finally {
      this.#under -= 1;
      if (this.#latest.get(callKey) === recorded) this.#latest.delete(callKey);
    }
  }

  async #record(input: RecordJobInput): Promise<RecordedJob> {
    const said = input.willContinue === true ? 'update of' : 'response to';
    try {
      const options = recordJobOptions(`${said} ${input.jobId}`, turnPriority(this.#user));
      const receipt = await scheduleActivity<JobReceipt>(RECORD_JOB, [input], options);
      return { kind: 'receipt', receipt: usable(RECORD_JOB, RESULTS.jobReceipt, receipt) };
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
      const { cause } = error;
      if (cause instanceof ApplicationFailure && cause.type === UNKNOWN_JOB) return { kind: 'unknown' };
      // The activity says what went wrong; it is not tried again where trying can't help.
      return { kind: 'failed', reason: 'the store did not take it; see the failed activity' };
    }
  }
}
