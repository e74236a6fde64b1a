import type { JobRow } from '../../../../src/contract/jobs.ts';
import type { FunctionResponse, Part } from '../../../../src/events/content.ts';
import { getFunctionResponses } from '../../../../src/events/event.ts';
import { createEventActions } from '../../../../src/events/event-actions.ts';
import { jobIdOf } from '../../../../src/protocol/identity.ts';
import type { EndJob, EndReceipt, JobClaims, NewJob } from '../../../../src/store/jobs/job-store.ts';
import type { DraftEvent } from '../../../../src/store/sessions/session-store.ts';
import { type Opened, Turn } from '../turns/turn.ts';

export const HOUR = 3_600_000;

export const REPORT = { response: { url: 'https://reports.example/7' }, failed: false };

export const ORDERED = { status: 'ordered' };

/** The calls that activities make to the store for a turn with long-running calls. */
export class JobTurn extends Turn {
  jobId(index: number, step = 1): string {
    return jobIdOf(this.session, this.callKey(step, index));
  }

  newJob(index: number, more: Partial<NewJob> = {}): NewJob {
    return {
      jobId: this.jobId(index),
      session: this.session,
      runKey: this.invocationId,
      callKey: this.callKey(1, index),
      callId: `call_${index}`,
      tool: 'pay',
      agent: 'clerk',
      address: { workflowId: `w-${this.names.app}`, runId: 'r-1', activityId: this.callKey(1, index) },
      deadline: HOUR,
      ...more,
    };
  }

  claims(index: number): JobClaims {
    const { address: _address, deadline: _deadline, ...claims } = this.newJob(index);
    return { ...claims, until: Date.now() + HOUR };
  }

  /** A turn whose calls of the first step have begun. */
  async calling(calls = 1): Promise<void> {
    await this.opened(1);
    await this.commit(1, calls, { retryable: true });
    for (let index = 0; index < calls; index += 1) await this.begin(1, index);
  }

  openJob(index: number, more: Partial<NewJob> = {}): Promise<JobRow> {
    return this.store.jobs.open(this.newJob(index, more));
  }

  park(index: number, attempt = 1, intermediate?: Record<string, unknown>): Promise<JobRow | undefined> {
    const jobId = this.jobId(index);
    const returned = intermediate === undefined ? {} : { intermediate };
    return this.store.jobs.park({ session: this.session, jobId, attempt, ...returned });
  }

  async parked(index: number): Promise<JobRow> {
    await this.openJob(index);
    const parked = await this.park(index);
    if (parked === undefined) throw new Error('the call was settled before it could park');
    return parked;
  }

  detach(index: number, intermediate: Record<string, unknown> = ORDERED): Promise<JobRow> {
    return this.store.jobs.detach({ session: this.session, jobId: this.jobId(index), intermediate });
  }

  settleGoingOn(index: number, response: Record<string, unknown> = ORDERED) {
    return this.store.turns.settleCall({
      session: this.session,
      callKey: this.callKey(1, index),
      response,
      failed: false,
      actions: {},
      willContinue: true,
    });
  }

  /** A turn that has ended, and its calls' jobs go on. */
  async detached(jobs = 1): Promise<void> {
    await this.calling(jobs);
    for (let index = 0; index < jobs; index += 1) {
      await this.openJob(index);
      await this.detach(index);
      await this.settleGoingOn(index);
    }
    await this.opened(2);
    await this.commit(2, 0);
  }

  endJob(index: number, more: Partial<EndJob> = {}): Promise<EndReceipt> {
    const jobId = this.jobId(index);
    return this.store.jobs.end({ jobId, status: 'completed', outcome: REPORT, by: 'callback', ...more });
  }

  /** What the transcript has of the first step's calls. */
  async responses(): Promise<FunctionResponse[]> {
    const events = await this.store.sessions.readEvents(this.names);
    const found = events.find(({ kind, runKey }) => kind === 'responses' && runKey === this.invocationId);
    return found === undefined ? [] : getFunctionResponses(found.event);
  }

  /** As writes answer it: without arguments. */
  async job(index: number): Promise<JobRow | undefined> {
    const found = await this.store.jobs.find(this.jobId(index));
    if (found === undefined) return undefined;
    const { args: _args, ...job } = found;
    return job;
  }
}

/** A response to a call, as a client sends it. */
export function answer(index: number, response: Record<string, unknown>, willContinue = false): Part {
  return {
    functionResponse: {
      id: `call_${index}`,
      name: 'pay',
      response,
      ...(willContinue ? { willContinue: true } : {}),
    },
  };
}

/** A turn whose message has responses to calls of earlier ones. */
export class AnsweringTurn extends Turn {
  /** The message, sent along or in the inbox. */
  message(parts: Part[]): DraftEvent {
    return {
      invocationId: this.invocationId,
      author: 'user',
      content: { role: 'user', parts },
      actions: createEventActions(),
    };
  }

  async opens(parts?: Part[]): Promise<Opened> {
    const opened = await this.store.turns.openStep({
      identity: { ...this.names, messageId: this.messageId },
      invocationId: this.invocationId,
      runKey: this.invocationId,
      step: 1,
      fence: this.fence,
      seq: this.seq,
      ...(parts === undefined ? {} : { message: this.message(parts) }),
    });
    if (opened.kind !== 'open') throw new Error(`the step is ${opened.kind}`);
    this.session = opened.session;
    this.seq = opened.seq;
    return opened;
  }

  /** Accepted, and not yet begun. */
  async queued(parts: Part[]): Promise<void> {
    await this.store.messages.keep({
      ...this.names,
      startedAt: this.fence.startedAt,
      messages: [
        {
          messageId: this.messageId,
          invocationId: this.invocationId,
          place: 1,
          digest: 'digest',
          bytes: 2,
          message: { role: 'user', parts },
        },
      ],
    });
  }

  /** What its message says of calls, as the transcript has it. */
  async heard(): Promise<Part[]> {
    const events = await this.store.sessions.readEvents(this.names);
    const { event } =
      events.find(({ kind, runKey }) => kind === 'message' && runKey === this.invocationId) ?? {};
    return event?.content?.parts ?? [];
  }
}
