import type { Event } from '../../../src/events/event.ts';
import { jobIdOf } from '../../../src/protocol/identity.ts';
import type { EndJob, JobClaims, JobRow, NewJob } from '../../../src/store/store.ts';
import { Turn } from './turn.ts';

export const HOUR = 3_600_000;

export const REPORT = { response: { url: 'https://reports.example/7' }, failed: false };

/** The calls that activities make to the store for a turn with long-running calls. */
export class JobTurn extends Turn {
  jobId(step: number, index: number): string {
    return jobIdOf(this.session, this.callKey(step, index));
  }

  newJob(step: number, index: number, more: Partial<NewJob> = {}): NewJob {
    return {
      jobId: this.jobId(step, index),
      session: this.session,
      runKey: this.invocationId,
      callKey: this.callKey(step, index),
      callId: `call_${index}`,
      tool: 'pay',
      agent: 'clerk',
      address: { workflowId: `w-${this.names.app}`, runId: 'r-1', activityId: this.callKey(step, index) },
      deadline: HOUR,
      ...more,
    };
  }

  claims(step: number, index: number): JobClaims {
    const { address: _address, deadline: _deadline, ...claims } = this.newJob(step, index);
    return { ...claims, until: Date.now() + HOUR };
  }

  /** A turn whose calls of the first step have begun. */
  async calling(calls = 1): Promise<void> {
    await this.opened(1);
    await this.commit(1, calls, { retryable: true });
    for (let index = 0; index < calls; index += 1) await this.begin(1, index);
  }

  openJob(step: number, index: number, more: Partial<NewJob> = {}): Promise<JobRow> {
    return this.store.openJob(this.newJob(step, index, more));
  }

  async parked(step: number, index: number, attempt = 1): Promise<JobRow> {
    await this.openJob(step, index);
    const parked = await this.park(step, index, attempt);
    if (parked === undefined) throw new Error('the call was settled before it could park');
    return parked;
  }

  park(
    step: number,
    index: number,
    attempt = 1,
    intermediate?: Record<string, unknown>,
  ): Promise<JobRow | undefined> {
    const { session } = this;
    return this.store.parkJob({
      session,
      jobId: this.jobId(step, index),
      attempt,
      ...(intermediate === undefined ? {} : { intermediate }),
    });
  }

  detach(step: number, index: number, intermediate: Record<string, unknown> = { status: 'ordered' }) {
    return this.store.detachJob({ session: this.session, jobId: this.jobId(step, index), intermediate });
  }

  /** A job that goes on without the turn, which has ended. */
  async detached(intermediate: Record<string, unknown> = { status: 'ordered' }): Promise<JobRow> {
    await this.calling();
    await this.openJob(1, 0);
    const job = await this.detach(1, 0, intermediate);
    await this.store.settleCall({
      session: this.session,
      callKey: this.callKey(1, 0),
      response: intermediate,
      failed: false,
      actions: {},
      willContinue: true,
    });
    await this.opened(2);
    await this.commit(2, 0);
    return job;
  }

  endJob(step: number, index: number, more: Partial<EndJob> = {}) {
    return this.store.endJob({
      jobId: this.jobId(step, index),
      status: 'completed',
      outcome: REPORT,
      by: 'callback',
      ...more,
    });
  }

  job(step: number, index: number): Promise<JobRow | undefined> {
    return this.store.findJob(this.jobId(step, index));
  }
}

/** Opens a turn with responses to calls. */
export type Answer = NonNullable<NonNullable<Event['content']>['parts']>[number]['functionResponse'];
