import { setTimeout } from 'node:timers/promises';
import type { ApproverKey } from '../../approvals/approver-key.ts';
import { nextCommands } from '../../approvals/next-commands.ts';
import type { Decided } from '../../client/approvals/approvals.ts';
import { askedRequests } from '../../client/approvals/asked-requests.ts';
import { NoAnswer } from '../../client/client-errors.ts';
import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { StreamItem } from '../../client/stream/stream-item.ts';
import { REQUEST_ANSWERS } from '../../contract/lists.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { TurnStatus } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { describeError } from '../cli-error.ts';
import { ownerHasEnded } from '../environment/folder-access.ts';
import { childLines, waitingChildren } from '../run/child-lines.ts';
import { askPerson, type Person } from './ask-person.ts';

/** Answers of a turn's worker may be this far apart, milliseconds. */
const POLL = 500;

/** Kinds of waits that a turn is left at. */
export type WaitsFor = 'waits for people' | 'waits for a job';

/** Results of an answer after which nothing is left to ask. */
const ENDS: ReadonlySet<string> = new Set(REQUEST_ANSWERS);

export interface GateDeskOptions {
  names: SessionNames;
  note: (line: string) => void;
  /** Somebody to ask; undefined where nobody is there. `signal` ends a question that others have answered. */
  person?: ((signal: AbortSignal) => Person) | undefined;
  /** Around a question: what else there is to print waits. */
  hold?: { begin(): void; end(): void };
  /** Resolves `left` once nothing but people or jobs is waited for. */
  leaves?: boolean;
  approver?: ApproverKey | undefined;
  folder: string;
}

/** Asks the person at the terminal when the shown turn waits for people, or prints the commands that answer. */
export class GateDesk {
  readonly #options: GateDeskOptions;
  readonly #left = Promise.withResolvers<WaitsFor>();
  #api: HoldfastApi | undefined;
  /** Ids of requests that nobody was asked yet. */
  #unasked: string[] = [];
  #isAsking = false;
  /** The question that is open. */
  #open: { requestId: string; others: AbortController } | undefined;
  /** Ids of requests that the one who is asked has answered in another way. */
  readonly #answered = new Set<string>();
  #isWatched = false;
  #isClosed = false;

  constructor(options: GateDeskOptions) {
    this.#options = options;
  }

  /** Of a command that doesn't wait for people and jobs. */
  get left(): Promise<WaitsFor> {
    return this.#left.promise;
  }

  /** The way to the turn, anew where the one before has ended. */
  serve(api: HoldfastApi): void {
    this.#api = api;
    void this.#askAll();
  }

  /** Notes a printed item of the turn. */
  heard(item: StreamItem): void {
    if (item.type === 'event') {
      const asked = askedRequests(item);
      if (asked.length > 0) {
        this.#unasked.push(...asked.map(({ requestId }) => requestId));
        void this.#askAll();
        this.waits();
        return;
      }
    }
    if (item.type === 'job' && item.mode === 'parked') this.waits();
    if (item.type === 'event' || item.type === 'call started' || item.type === 'call finished')
      void this.#recheck();
  }

  /** The asked person answers by a command; the receipt tells whether the request is over. */
  async answeredBy<Receipt extends Decided>(requestId: string, sent: Promise<Receipt>): Promise<Receipt> {
    this.#answered.add(requestId);
    let isOver = false;
    try {
      const receipt = await sent;
      isOver = receipt.confirmed && ENDS.has(receipt.status);
      return receipt;
    } finally {
      if (!isOver) this.#answered.delete(requestId);
      else if (this.#open?.requestId === requestId) this.#open.others.abort();
    }
  }

  /** The turn may wait for people or jobs from now on: a command that leaves looks whether it does. */
  waits(): void {
    if (!this.#options.leaves || this.#isWatched) return;
    this.#isWatched = true;
    void this.#watch();
  }

  close(): void {
    this.#isClosed = true;
    this.#open?.others.abort();
  }

  async #askAll(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      for (;;) {
        const requestId = this.#unasked.shift();
        if (requestId === undefined || this.#isClosed) return;
        if (!(await this.#ask(requestId))) return;
      }
    } finally {
      this.#isAsking = false;
    }
  }

  /** False where the way to the turn is lost: the next one asks again. */
  async #ask(requestId: string): Promise<boolean> {
    const { note, person, hold } = this.#options;
    const others = new AbortController();
    this.#open = { requestId, others };
    try {
      const row = await this.#find(requestId);
      if (row?.status !== 'pending' || this.#isClosed) return true;
      if (person === undefined) {
        this.#tell(row);
        return true;
      }
      hold?.begin();
      await askPerson(row, person(others.signal), {
        api: this.#reached(),
        approver: this.#options.approver,
        folder: this.#options.folder,
      });
    } catch (error) {
      if (others.signal.aborted) {
        if (!this.#isClosed && !this.#answered.has(requestId))
          note(`${requestId} was answered by somebody else, or is over`);
      } else note(`${requestId}: ${describeError(error)}`);
      if (ownerHasEnded(error)) {
        this.#unasked.unshift(requestId);
        return false;
      }
    } finally {
      hold?.end();
      this.#open = undefined;
    }
    return true;
  }

  #tell(row: ApprovalRow): void {
    const { note, folder } = this.#options;
    note(`${row.requestId} waits for a person; it is answered by`);
    for (const command of nextCommands(row, folder)) note(`  ${command}`);
  }

  /** A question that others have answered is none any more. */
  async #recheck(): Promise<void> {
    const open = this.#open;
    if (open === undefined || this.#options.person === undefined) return;
    try {
      const row = await this.#find(open.requestId);
      if (row !== undefined && row.status !== 'pending') open.others.abort();
    } catch (error) {
      this.#options.note(`${open.requestId}: ${describeError(error)}`);
    }
  }

  async #watch(): Promise<void> {
    while (!this.#isClosed) {
      const { status, children = [] } = (await this.#status()) ?? {};
      if (status?.startsWith('waiting_')) {
        for (const line of childLines(waitingChildren(children))) this.#options.note(line);
        return this.#left.resolve(status === 'waiting_job' ? 'waits for a job' : 'waits for people');
      }
      await setTimeout(POLL, undefined, { ref: false });
    }
  }

  async #status(): Promise<TurnStatus | undefined> {
    try {
      return await this.#api?.status(this.#options.names);
    } catch (error) {
      // Of the end of its worker others tell.
      if (error instanceof NoAnswer || this.#isClosed) return undefined;
      this.#options.note(describeError(error));
      return undefined;
    }
  }

  async #find(requestId: string): Promise<ApprovalRow | undefined> {
    return await this.#reached().approvals.get({ requestId });
  }

  #reached(): HoldfastApi {
    if (this.#api === undefined) throw new Error('nobody was asked before the turn was reached');
    return this.#api;
  }
}
