import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { JobRow } from '../../src/contract/jobs.ts';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import { EXPIRE_JOB } from '../../src/protocol/names.ts';
import { JOB_APP, type JobOrder, type JobToolName } from '../setup/job-apps.ts';
import type { JobNote } from '../setup/job-service.ts';
import type { JobStage } from '../setup/job-stage.ts';
import { type Answered, STATUSES } from './evidence.ts';

export const WAYS = ['message', 'callback', 'poll', 'inProcess'] as const;

/** How a job gets its outcome. */
export type Way = (typeof WAYS)[number];

export const TOOL_OF: Readonly<Record<Way, JobToolName>> = {
  message: 'order',
  callback: 'order',
  poll: 'watch',
  inProcess: 'build',
};

/** A session whose turn has ordered one thing, and whoever says something of it. */
export class OrderedJob {
  readonly names: { app: string; userId: string; sessionId: string };
  readonly answered: Answered[] = [];
  readonly turns: TurnHandle[] = [];
  readonly #stage: JobStage;

  private constructor(stage: JobStage, sessionId: string) {
    this.#stage = stage;
    this.names = { app: JOB_APP, userId: 'ada', sessionId };
  }

  /** @returns once its turn has begun. */
  static async begin(
    stage: JobStage,
    name: JobToolName,
    args: Partial<JobOrder> = {},
    { sessionId = randomUUID(), messageId }: { sessionId?: string; messageId?: string } = {},
  ): Promise<OrderedJob> {
    const job = new OrderedJob(stage, sessionId);
    await job.send([[{ name, args: { n: 1, ...args } }]], messageId);
    return job;
  }

  get workflowId(): string {
    return workflowIdOf(this.names.app, this.names.userId, this.names.sessionId);
  }

  async send(
    steps: { name: JobToolName; args: JobOrder }[][],
    messageId: string = randomUUID(),
  ): Promise<TurnHandle> {
    const message = JSON.stringify({ session: this.names.sessionId, steps });
    const turn = await this.#stage.client.sendMessage({ ...this.names, message, messageId });
    this.turns.push(turn);
    return turn;
  }

  async row(): Promise<JobRow> {
    return await found(async () => {
      const [row] = await this.#stage.store.jobs.list({ ...this.names, status: STATUSES });
      return row;
    });
  }

  /** Its tool has begun. */
  async ran(): Promise<JobNote> {
    const { jobId } = await this.row();
    return await found(() => this.#stage.service.notesOf(jobId).find(({ what }) => what === 'ran'));
  }

  /** The store knows that its tool has returned, and the service that it does. */
  async handedOut(): Promise<void> {
    const { jobId } = await this.row();
    const isHandedOut = ({ what }: JobNote) => what === 'parked' || what === 'detached';
    await found(() => this.#stage.service.notesOf(jobId).find(isHandedOut));
  }

  /** Somebody looks after it: the activity that waits, its polls, or its tool that beats. */
  async waits(way: Way): Promise<void> {
    await this.ran();
    const handle = this.#stage.temporal.workflow.getHandle(this.workflowId);
    await found(async () => {
      if (way === 'inProcess') {
        const { raw } = await handle.describe();
        return raw.pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0];
      }
      const { address, polls } = await this.row();
      return address?.activityId.endsWith('/wait') && (way !== 'poll' || polls.notYet > 0);
    });
  }

  /** Gives it an outcome. Where that isn't told to anybody, others say it. */
  async finish(way: Way, result: Record<string, unknown>): Promise<void> {
    if (way === 'callback') return await this.callBack('complete', { result });
    if (way === 'message') return await this.answer(result);
    const { jobId } = await this.row();
    this.#stage.service.finish(jobId, result);
  }

  /** As the service does, by the token that the tool has given it. */
  async callBack(what: 'complete' | 'fail' | 'progress', body: object): Promise<void> {
    const { callback } = await this.ran();
    const answer = await fetch(`${callback?.url}/${what}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${callback?.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    this.answered.push({ ...((await answer.json()) as Answered), who: `callback ${what}` });
  }

  /** By a message, as a client of ADK does. */
  async answer(response: Record<string, unknown>): Promise<void> {
    const { callId: id, tool: name, jobId } = await this.row();
    const parts = [{ functionResponse: { id, name, response } }];
    const turn = await this.#stage.client.sendMessage({
      ...this.names,
      message: { role: 'user', parts },
    });
    this.turns.push(turn);
    const receipt = await turn.receipt();
    const own = receipt.confirmed ? (receipt.jobs ?? []) : [];
    for (const one of own) this.answered.push({ who: 'message', ...one, jobId });
  }

  /** Its time is over. */
  async expire(): Promise<void> {
    const handle = this.#stage.temporal.workflow.getHandle(this.workflowId);
    await handle.executeUpdate(EXPIRE_JOB, { args: [{ v: 1 }] });
  }

  async ended(): Promise<JobRow> {
    return await found(async () => {
      const row = await this.row();
      return row.status === 'running' ? undefined : row;
    });
  }
}

async function found<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
  return (await vi.waitUntil(look, { timeout: 120_000, interval: 50 })) as NonNullable<T>;
}
