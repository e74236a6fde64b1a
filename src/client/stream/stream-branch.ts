import type { StoredEvent } from '../../contract/events.ts';
import type { ChildSession } from '../../store/turns/child-store.ts';
import { OpenSteps } from '../turns/open-steps.ts';
import type { StreamItem } from './stream-item.ts';

/** How a session of the tree is read. */
export interface BranchReading {
  after: number;
  signal: AbortSignal;
  /** Once it has settled, the events that are there are the last ones. */
  until: Promise<unknown>;
  /** Called with each look: the session, and the last seq that it has. */
  found: (session: string, end: number) => void;
  /** Called where an agent is told of. */
  told: () => void;
}

export type OpenBranch = (reading: BranchReading) => AsyncGenerator<StreamItem, void, undefined>;

type Arrived = { item: StreamItem } | { error: unknown } | 'end';

export interface BranchOptions {
  after: number;
  open: OpenBranch;
  /** Calls that are open at the start of the reading. */
  stepsAt: (seq: number) => Promise<OpenSteps>;
  /** Absent for the root. */
  child?: ChildSession;
  signal: AbortSignal;
  arrived: (branch: StreamBranch) => void;
  /** Its session is known, or another one than `before`. */
  found: (branch: StreamBranch, before: string | undefined) => void;
  told: () => void;
}

/** One session of the tree that is followed: read one item ahead of what is given. */
export class StreamBranch {
  readonly #options: BranchOptions;
  #reading: AsyncGenerator<StreamItem, void, undefined> | undefined;
  #end = Promise.withResolvers<void>();
  #isAsked = false;
  #arrived: Arrived | undefined;
  #found: string | undefined;
  #scan: Promise<void> | undefined;
  /** The store's id of the session, once it is known. */
  session: string | undefined;
  /** Of an agent that a call runs, as it was listed last. */
  child: ChildSession | undefined;
  /** Seq of the last event that was given. */
  place: number;
  /** There are events up to this seq. */
  known = 0;
  steps = new OpenSteps();
  /** How many looks at the list of agents had begun when what has arrived did. */
  arrivedAtLook = 0;
  /** When the last look that has come back began, there were events up to this seq. */
  listedTo = 0;
  isDone = false;
  /** Whether it is known which steps are open. */
  isReady: boolean;

  constructor(options: BranchOptions) {
    this.#options = options;
    this.child = options.child;
    this.session = options.child?.session;
    this.place = options.after;
    this.isReady = options.after === 0;
  }

  /** The items that have arrived and were not taken; asks for more when nobody has. */
  peek(): Arrived | undefined {
    if (this.#arrived === undefined && !this.#isAsked && !this.isDone) this.#ask();
    return this.#arrived;
  }

  take(): void {
    this.#arrived = undefined;
  }

  /** This event is given. */
  passed(stored: StoredEvent): void {
    this.place = stored.seq;
    this.steps.passed(stored);
  }

  /** As before its first event. */
  begin(): void {
    this.place = 0;
    this.known = 0;
    this.listedTo = 0;
    this.steps = new OpenSteps();
    this.isReady = true;
  }

  /** Whether all is given that there was when it was listed last. */
  get isRead(): boolean {
    return this.child === undefined || this.place >= this.child.seq;
  }

  /** The events that are there are the last ones. */
  finish(): void {
    this.#end.resolve();
  }

  /** Reads on after the given items, where it had been finished. */
  reopen(): void {
    this.isDone = false;
    this.#reading = undefined;
    this.#end = Promise.withResolvers();
  }

  /** Leaves nothing open; the signal ends the wait. */
  async close(): Promise<void> {
    this.isDone = true;
    this.#arrived = undefined;
    this.finish();
    // A closed branch tells no failure any more.
    await this.#reading?.return().catch(() => undefined);
  }

  #ask(): void {
    this.#isAsked = true;
    const { open, signal, told } = this.#options;
    this.#reading ??= open({
      after: this.place,
      signal,
      until: this.#end.promise,
      found: (session, end) => this.#look(session, end),
      told,
    });
    const arrive = (arrived: Arrived) => {
      this.#isAsked = false;
      if (this.isDone) return;
      this.#arrived = arrived;
      this.#options.arrived(this);
    };
    const next = this.#reading.next().then(async (result) => {
      await this.#scan;
      return result;
    });
    next.then(
      ({ done, value }) => arrive(done || value === undefined ? 'end' : { item: value }),
      (error: unknown) => arrive({ error }),
    );
  }

  #look(session: string, end: number): void {
    this.known = end;
    if (this.#found === session) return;
    const before = this.#found;
    this.#found = session;
    this.session = session;
    if (this.isReady || before !== undefined) {
      this.#options.found(this, before);
      return;
    }
    this.#scan = this.#options.stepsAt(this.place).then((steps) => {
      if (this.isReady) return;
      this.steps = steps;
      this.isReady = true;
      this.#options.found(this, undefined);
    });
    // A waiting reader learns of it.
    this.#scan.catch(() => undefined);
  }
}
