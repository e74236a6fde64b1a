import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What was done for a job by user code: noted outside of its process. */
export interface JobNote {
  /** `parked`, `detached`: the store had it before the process could die. */
  what: 'ran' | 'parked' | 'detached' | 'polled' | 'told' | 'out of time';
  jobId: string;
  /** Id of the session, as its user names it. */
  session: string;
  callKey: string;
  tool: string;
  n: number;
  /** What the job in process went on from. */
  details?: unknown;
  /** Of a run. */
  callback?: { url: string; token: string };
}

/** The service behind tools with jobs: files outside of the processes that are killed, each written by one system call. */
export class JobService {
  readonly #notes: string;
  readonly #orders: string;

  constructor(folder: string) {
    this.#notes = join(folder, 'jobs.jsonl');
    this.#orders = join(folder, 'orders');
    mkdirSync(this.#orders, { recursive: true });
  }

  note(note: JobNote): void {
    appendFileSync(this.#notes, `${JSON.stringify(note)}\n`);
  }

  notes(): JobNote[] {
    if (!existsSync(this.#notes)) return [];
    const lines = readFileSync(this.#notes, 'utf8').split('\n');
    // The last one may be half written.
    return lines.slice(0, -1).map((line) => JSON.parse(line));
  }

  notesOf(jobId: string): JobNote[] {
    return this.notes().filter((note) => note.jobId === jobId);
  }

  /** What polls find from now on, and what a job in process comes to. */
  finish(jobId: string, result: Record<string, unknown>): void {
    const file = join(this.#orders, `${jobId}.json`);
    writeFileSync(`${file}.new`, JSON.stringify(result));
    renameSync(`${file}.new`, file);
  }

  result(jobId: string): Record<string, unknown> | undefined {
    const file = join(this.#orders, `${jobId}.json`);
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  }

  /** Lets a tool return that holds. */
  letGo(jobId: string): void {
    writeFileSync(join(this.#orders, `${jobId}.go`), '');
  }

  isLetGo(jobId: string): boolean {
    return existsSync(join(this.#orders, `${jobId}.go`));
  }
}
