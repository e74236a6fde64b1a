import { setTimeout } from 'node:timers/promises';
import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { StreamItem } from '../../client/stream/stream-item.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import type { JobRow } from '../../contract/jobs.ts';
import { jobMessageId } from '../../protocol/job.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';

/** Milliseconds between two looks at a job, from the first to those of a long one. */
const POLL = { first: 500, longest: 5_000 };

export interface LateTurn {
  turn: TurnHandle;
  names: SessionNames;
  job: JobRow;
}

export interface LateTurnsOptions {
  client: Pick<HoldfastApi, 'jobs' | 'turn'>;
  began: (late: LateTurn) => void;
  failed: (error: unknown) => void;
}

/** Turns that begin by themselves: a job that went on without its turn has ended, and the model is told. */
export class LateTurns {
  readonly #options: LateTurnsOptions;
  readonly #watched = new Set<string>();
  readonly #closed = new AbortController();

  constructor(options: LateTurnsOptions) {
    this.#options = options;
  }

  heard(names: SessionNames, item: StreamItem): void {
    if (item.type === 'job' && item.mode === 'detached' && item.status === 'running')
      this.#watch(names, item.jobId);
  }

  /** Jobs of a session that were begun before anybody followed it. */
  async join(names: SessionNames): Promise<void> {
    const { app, userId, sessionId } = names;
    try {
      for (const { jobId, mode } of await this.#options.client.jobs.list({ app, userId, sessionId }))
        if (mode === 'detached') this.#watch(names, jobId);
    } catch (error) {
      this.#fail(error);
    }
  }

  close(): void {
    this.#closed.abort();
  }

  #watch(names: SessionNames, jobId: string): void {
    if (this.#watched.has(jobId)) return;
    this.#watched.add(jobId);
    void this.#wait(names, jobId).catch((error: unknown) => this.#fail(error));
  }

  async #wait(names: SessionNames, jobId: string): Promise<void> {
    const { client, began } = this.#options;
    const { signal } = this.#closed;
    for (let pause = POLL.first; ; pause = Math.min(pause * 1.5, POLL.longest)) {
      await setTimeout(pause, undefined, { ref: false, signal });
      const job = await client.jobs.get(jobId);
      // The session was deleted.
      if (job === undefined) return;
      if (job.deliveredSeq === undefined) continue;
      const turn = await client.turn({ ...names, messageId: jobMessageId(job.callKey) });
      // Without one a message of somebody's has told the model.
      if (turn !== undefined && !signal.aborted) began({ turn, names, job });
      return;
    }
  }

  #fail(error: unknown): void {
    if (!this.#closed.signal.aborted) this.#options.failed(error);
  }
}
