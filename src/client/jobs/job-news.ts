import type { LiveItem } from '../stream/stream-item.ts';

type JobItem = Extract<LiveItem, { type: 'job' }>;

const ENDED = Number.POSITIVE_INFINITY;
const MODES = ['started', 'parked', 'detached'] as const;

/** What was told of the jobs of a run: notices come late and twice. */
export class JobNews {
  /** By job: how far its mode and its progress were told. */
  readonly #told = new Map<string, { mode: number; at: number }>();

  /** Whether an item says more than what was told before; nothing does once the job has ended. */
  isNew({ jobId, status, mode, progress }: JobItem): boolean {
    const told = this.#told.get(jobId) ?? { mode: -1, at: -1 };
    const item = { mode: MODES.indexOf(mode), at: status === 'running' ? (progress?.at ?? 0) : ENDED };
    const isNew = item.at > told.at || (item.at === told.at && item.mode > told.mode && told.at < ENDED);
    if (isNew) this.#told.set(jobId, { mode: Math.max(item.mode, told.mode), at: item.at });
    return isNew;
  }
}
