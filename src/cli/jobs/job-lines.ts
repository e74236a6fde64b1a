import type { StreamItem } from '../../client/stream/stream-item.ts';
import type { JobProgress } from '../../contract/jobs.ts';
import { shortCallKey } from '../../protocol/identity.ts';
import { progressWords, statusWords } from './job-text.ts';

type JobItem = Extract<StreamItem, { type: 'job' }>;

export interface JobLineWriter {
  /** A line of its own. */
  line(text: string): void;
  /** Draws over what it drew last, until `end`. Undefined where lines can't be drawn over. */
  draw?: ((text: string) => void) | undefined;
  /** Ends the line that was drawn. */
  end(): void;
  /** Command that shows more of a job. */
  hint(jobId: string): string;
}

interface Known {
  tool: string;
  place: string;
  mode: JobItem['mode'];
  status: JobItem['status'];
  progress: JobProgress | undefined;
}

/** Points of a hundred that are worth a line where lines can't be drawn over. */
const STEP = 10;
const BAR = 20;

/** Writes how jobs stand: what they wait for once, progress over and over on one line, or where that can't be, on few. */
export class JobLines {
  readonly #out: JobLineWriter;
  readonly #known = new Map<string, Known>();
  /** Of each job, the progress that has a line. */
  readonly #written = new Map<string, string>();
  #isDrawn = false;

  constructor(out: JobLineWriter) {
    this.#out = out;
  }

  item({ jobId, callKey, tool, status, mode, progress }: JobItem): void {
    const before = this.#known.get(jobId);
    const job: Known = {
      tool,
      place: shortCallKey(callKey),
      mode,
      status,
      progress: progress ?? before?.progress,
    };
    this.#known.set(jobId, job);
    if (status !== 'running') {
      if (before?.status !== status) this.#ended(jobId, job);
      return;
    }
    if (mode !== 'started' && before?.mode !== mode) this.#line(waitingLine(jobId, job, this.#out));
    if (progress === undefined) return;
    if (this.#out.draw === undefined) this.#tellProgress(jobId, job, progress);
    else this.#draw(this.#out.draw);
  }

  /** Ends the line that was drawn, for something else to be written. */
  interrupt(): void {
    if (this.#isDrawn) this.#out.end();
    this.#isDrawn = false;
  }

  #ended(jobId: string, job: Known): void {
    this.#written.delete(jobId);
    this.#line(`${job.tool} ${job.place}: its job ${endWords(job)}  ${jobId}`);
    if (this.#out.draw !== undefined) this.#draw(this.#out.draw);
  }

  #tellProgress(jobId: string, { tool, place }: Known, progress: JobProgress): void {
    const key = `${Math.floor(((progress.value ?? 0) * 100) / STEP)} ${progress.message ?? ''}`;
    if (this.#written.get(jobId) === key) return;
    this.#written.set(jobId, key);
    this.#line(`${tool} ${place}  ${progressWords(progress)}`);
  }

  #line(text: string): void {
    this.interrupt();
    this.#out.line(text);
  }

  #draw(draw: (text: string) => void): void {
    const running = [...this.#known.values()].filter(
      ({ status, progress }) => status === 'running' && progress !== undefined,
    );
    const [job, ...others] = running;
    if (job === undefined) {
      this.interrupt();
      return;
    }
    draw(others.length === 0 ? barText(job) : running.map(shortText).join(' · '));
    this.#isDrawn = true;
  }
}

function waitingLine(jobId: string, { tool, place, mode }: Known, { hint }: JobLineWriter): string {
  const what = mode === 'parked' ? 'waits for its job' : 'goes on as a job, whose result comes later';
  return `${tool} ${place} ${what}  ${jobId}  (${hint(jobId)})`;
}

function endWords(job: Known): string {
  return job.status === 'timed_out' ? 'is out of time' : `is ${statusWords(job)}`;
}

function barText({ tool, progress = { at: 0 } }: Known): string {
  const { value } = progress;
  if (value === undefined) return `${tool}  ${progressWords(progress)}`;
  const full = Math.round(value * BAR);
  return `${tool}  ${'█'.repeat(full)}${'░'.repeat(BAR - full)}  ${progressWords(progress)}`;
}

function shortText({ tool, place, progress = { at: 0 } }: Known): string {
  return `${tool} ${place} ${progressWords(progress)}`;
}
