import { setTimeout } from 'node:timers/promises';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { JobNotFound, NoAnswer, UnknownCall } from '../../src/client/client-errors.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { JobAnswer, JobRow } from '../../src/contract/jobs.ts';
import { jobWorkflowIdOf, workflowIdOf } from '../../src/protocol/identity.ts';
import { EXPIRE_JOB } from '../../src/protocol/names.ts';
import type { JobNote } from '../setup/job-service.ts';
import type { JobStage } from '../setup/job-stage.ts';
import { isOutage } from '../setup/outage-errors.ts';
import { type SeededRandom, seededRandom } from '../setup/soak-random.ts';
import { type Answered, STATUSES } from './evidence.ts';
import type { JobScenario, OrderingTurn } from './plan.ts';

/** What came of a scenario, as those who took part saw it. */
export interface PlayedJobs {
  scenario: JobScenario;
  /** Those that were sent. */
  turns: OrderingTurn[];
  answered: Answered[];
  /** Messages that said something of a job, by job: behind its end each has the outcome. */
  messages: Map<string, { count: number; outcomes: unknown[] }>;
  /** What ended a turn was done. */
  broken: boolean;
  /** That ended its workflow at once. */
  terminated: boolean;
  /** What was thrown that is no outage and no refusal. */
  problems: string[];
}

/** What somebody can be told who says something of a job, or stops something. */
const REFUSALS = [JobNotFound, NoAnswer, UnknownCall, WorkflowNotFoundError, WorkflowUpdateFailedError];

/** So many acts are whatever comes; those behind them only let all jobs end. */
const MOST_ACTS = 14;
const MOST_LOOKS = 60;
const LOOKS_TO_RESEND = 20;

/** Share of acts that are about a job which goes on, as far as there is one. */
const OF_OPEN = 0.75;

/** Milliseconds between two acts. */
const PAUSE = [20, 250] as const;

/** Before the same is said again, milliseconds. */
const REPEAT = 3_000;
/** For the receipt of a message, milliseconds. */
const RECEIPT = 5_000;

/** Plays the services and the people around one session: they say what its jobs come to, twice and otherwise, early and late. */
export class JobActor {
  readonly #stage: JobStage;
  readonly #random: SeededRandom;
  readonly #played: PlayedJobs;
  readonly #signal: AbortSignal;
  /** When what had to be said was, last; by job. */
  readonly #finished = new Map<string, number>();
  #acts = 0;
  #looks = 0;
  #said = 0;

  /** @param signal ends a scenario that doesn't end. */
  constructor(stage: JobStage, scenario: JobScenario, seed: number, signal: AbortSignal) {
    this.#stage = stage;
    this.#random = seededRandom(`${seed} ${scenario.names.sessionId}`);
    this.#signal = signal;
    this.#played = {
      scenario,
      turns: [],
      answered: [],
      messages: new Map(),
      broken: false,
      terminated: false,
      problems: [],
    };
  }

  async play(): Promise<PlayedJobs> {
    const { scenario } = this.#played;
    try {
      for (const turn of scenario.turns) {
        await this.#send(turn);
        // The next one may come while jobs of this one go on.
        if (this.#random.chance(0.5)) await this.#untilAtRest();
      }
      await this.#untilAtRest();
      await this.#send(scenario.closing);
      await this.#untilAtRest();
    } catch (error) {
      this.#played.problems.push(describe(error));
    }
    return this.#played;
  }

  get #workflowId(): string {
    const { app, userId, sessionId } = this.#played.scenario.names;
    return workflowIdOf(app, userId, sessionId);
  }

  get #handle() {
    return this.#stage.temporal.workflow.getHandle(this.#workflowId);
  }

  async #send(turn: OrderingTurn): Promise<TurnHandle> {
    const { names } = this.#played.scenario;
    if (!this.#played.turns.includes(turn)) this.#played.turns.push(turn);
    const steps = turn.steps.map((step) => step.map(({ name, args }) => ({ name, args })));
    const { messageId } = turn;
    const closing = messageId === this.#played.scenario.closing.messageId ? { closing: names.sessionId } : {};
    const message = JSON.stringify({ session: names.sessionId, steps, ...closing });
    return await this.#untilUp(() => this.#stage.client.sendMessage({ ...names, message, messageId }));
  }

  /** What was accepted by a workflow that was being ended, or has ended since, is sent again, as clients do. */
  async #sendLost(): Promise<void> {
    if ((await this.#isRunning()) === true) return;
    for (const turn of this.#played.turns) if (!(await this.#hasEnded(turn))) await this.#send(turn);
  }

  async #isRunning(): Promise<boolean> {
    const { status } = await this.#untilUp(() => this.#handle.describe());
    return status.name === 'RUNNING';
  }

  async #hasEnded({ invocationId }: OrderingTurn): Promise<boolean> {
    const { store } = this.#stage;
    const found = await store.turns.findInvocation(this.#played.scenario.names, invocationId);
    return found !== undefined && found.status !== 'running';
  }

  async #rows(): Promise<JobRow[]> {
    const { names } = this.#played.scenario;
    return await this.#stage.store.jobs.list({ ...names, status: STATUSES, limit: 1_000 });
  }

  /** Of its tools' runs. */
  #orders(): JobNote[] {
    return this.#stage.service
      .notes()
      .filter(({ what, session }) => what === 'ran' && session === this.#names.sessionId);
  }

  async #untilAtRest(): Promise<void> {
    for (;;) {
      const turns = await Promise.all(this.#played.turns.map((turn) => this.#hasEnded(turn)));
      const rows = await this.#rows();
      const told = await Promise.all(rows.map((row) => this.#isTold(row)));
      if (turns.every(Boolean) && told.every(Boolean) && !(await this.#isRunning())) return;
      await this.#act(rows);
      await setTimeout(this.#random.between(...PAUSE), undefined, { signal: this.#signal });
    }
  }

  /** Its session is, of what it came to. */
  async #isTold(row: JobRow): Promise<boolean> {
    if (row.status === 'running') return false;
    if (row.mode !== 'detached' || row.endedBy === 'turn') return true;
    return (await this.#stage.store.jobs.delivery(row)) === 'told';
  }

  async #act(rows: readonly JobRow[]): Promise<void> {
    this.#looks += 1;
    const orders = this.#orders();
    if (orders.length > 0) this.#acts += 1;
    if (this.#looks % LOOKS_TO_RESEND === 0) await this.#sendLost();
    if (this.#isToBreak()) return await this.#break();
    if (this.#acts > MOST_ACTS || this.#looks > MOST_LOOKS) return await this.#finish(rows, orders);
    if (orders.length === 0) return;
    const hasEnded = ({ jobId }: JobNote) =>
      rows.some((row) => row.jobId === jobId && row.status !== 'running');
    const open = orders.filter((one) => !hasEnded(one));
    const order = this.#random.pick(open.length > 0 && this.#random.chance(OF_OPEN) ? open : orders);
    const row = rows.find(({ jobId }) => jobId === order.jobId);
    const act = this.#random.next();
    if (act < 0.05) return await this.#stage.worker.kill();
    if (act < 0.15) return this.#stage.service.letGo(order.jobId);
    if (act < 0.3) return this.#stage.service.finish(order.jobId, this.#outcome(order));
    if (act < 0.4) return await this.#callBack(order, 'progress', { value: 0.5, message: 'half' });
    if (act < 0.6 || row === undefined) return await this.#calledBack(order);
    if (act < 0.75) return await this.#message(row, order, this.#random.chance(0.4));
    if (act < 0.8) return await this.#ask(row, 'operator', () => this.#cancel(row));
    if (act < 0.86) return await this.#cancelCall(row);
    if (act < 0.94) return await this.#expire(row);
    await this.#stop(row);
  }

  get #names() {
    return this.#played.scenario.names;
  }

  #isToBreak(): boolean {
    const { scenario, broken } = this.#played;
    if (broken || scenario.breaks === 'none') return false;
    return this.#acts > scenario.breakAfter || this.#looks > MOST_LOOKS;
  }

  /** Each outcome is another one, so that a mix-up shows. */
  #outcome({ n }: JobNote): { n: number; said: number } {
    this.#said += 1;
    return { n, said: this.#said };
  }

  /** Lets everything end; what ends by itself may do so. */
  async #finish(rows: readonly JobRow[], orders: readonly JobNote[]): Promise<void> {
    for (const order of orders) {
      const { jobId } = order;
      if (Date.now() < (this.#finished.get(jobId) ?? 0) + REPEAT) continue;
      this.#finished.set(jobId, Date.now());
      const row = rows.find((one) => one.jobId === jobId);
      const isOver = row !== undefined && row.status !== 'running';
      if (isOver && (row.mode !== 'detached' || row.deliveredSeq !== undefined)) continue;
      this.#stage.service.letGo(jobId);
      await this.#callBack(order, 'complete', { result: this.#outcome(order) });
    }
  }

  /** Once, twice, or something else at the same time. */
  async #calledBack(order: JobNote): Promise<void> {
    const result = { result: this.#outcome(order) };
    const failure = { error: `failed: ${order.n}` };
    const how = this.#random.next();
    if (how < 0.4) return await this.#callBack(order, 'complete', result);
    if (how < 0.5) return await this.#callBack(order, 'fail', failure);
    await Promise.all([
      this.#callBack(order, 'complete', result),
      how < 0.8 ? this.#callBack(order, 'complete', result) : this.#callBack(order, 'fail', failure),
    ]);
  }

  async #callBack(
    { jobId, callback }: JobNote,
    what: 'complete' | 'fail' | 'progress',
    body: object,
  ): Promise<void> {
    const answer = await this.#untilUp(async () => {
      const response = await fetch(`${callback?.url}/${what}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${callback?.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (response.status !== 200 && !(what === 'progress' && response.status === 409)) {
        throw new Error(`${what}: ${response.status}: ${await response.text()}`);
      }
      return (await response.json()) as JobAnswer;
    });
    if (answer.status !== undefined)
      this.#played.answered.push({ ...answer, jobId, who: `callback ${what}` });
  }

  async #message({ jobId, callId: id, tool: name }: JobRow, order: JobNote, goesOn: boolean): Promise<void> {
    const { messages, answered } = this.#played;
    const response = goesOn ? { n: order.n, half: true } : this.#outcome(order);
    const more = goesOn ? { willContinue: true } : {};
    const { count, outcomes } = messages.get(jobId) ?? { count: 0, outcomes: [] };
    messages.set(jobId, { count: count + 1, outcomes: goesOn ? outcomes : [...outcomes, response] });
    const parts = [{ functionResponse: { id, name, response, ...more } }];
    await this.#order(async () => {
      const turn = await this.#stage.client.sendMessage({
        ...this.#names,
        message: { role: 'user', parts },
      });
      const receipt = await turn.receipt({ timeout: RECEIPT });
      for (const one of receipt.confirmed ? (receipt.jobs ?? []) : [])
        answered.push({ ...one, who: 'message' });
    });
  }

  #cancel({ jobId }: JobRow): Promise<JobAnswer> {
    return this.#stage.client.jobs.cancel(jobId, { reason: 'too dear' });
  }

  async #cancelCall({ callKey }: JobRow): Promise<void> {
    await this.#order(() => this.#stage.client.cancelCall(this.#names, { callKey }));
  }

  async #ask({ jobId }: JobRow, who: string, ask: () => Promise<JobAnswer>): Promise<void> {
    await this.#order(async () => {
      const answer = await ask();
      this.#played.answered.push({ ...answer, jobId, who });
    });
  }

  async #expire({ jobId, callKey, mode }: JobRow): Promise<void> {
    const { workflow } = this.#stage.temporal;
    const id = mode === 'detached' ? jobWorkflowIdOf(this.#workflowId, callKey) : this.#workflowId;
    await this.#order(() => workflow.getHandle(id).executeUpdate(EXPIRE_JOB, { args: [{ v: 1, jobId }] }));
  }

  /** The workflow of a job that goes on without its turn. */
  async #stop({ callKey, mode }: JobRow): Promise<void> {
    if (mode !== 'detached') return;
    const handle = this.#stage.temporal.workflow.getHandle(jobWorkflowIdOf(this.#workflowId, callKey));
    const isPolite = this.#random.chance(0.5);
    await this.#order(() => (isPolite ? handle.cancel() : handle.terminate('by the test')));
  }

  async #break(): Promise<void> {
    const { breaks, following, turns: planned } = this.#played.scenario;
    this.#played.broken = true;
    if (breaks === 'interrupt') return await this.#order(() => this.#handle.signal('interrupt', {}));
    this.#played.terminated = breaks !== 'cancel';
    await this.#order(() =>
      breaks === 'cancel' ? this.#handle.cancel() : this.#handle.terminate('by the test'),
    );
    if (breaks === 'cancel') return;
    // What was queued behind it may be lost with it.
    const sent = this.#played.turns;
    const [first] = planned;
    const again = breaks === 'resend' ? [...sent] : [...sent.filter((turn) => turn !== first), following];
    for (const turn of again) await this.#send(turn);
  }

  /** What may be refused. */
  async #order(order: () => Promise<unknown>): Promise<void> {
    try {
      await this.#untilUp(order);
    } catch (error) {
      if (!REFUSALS.some((refusal) => error instanceof refusal)) throw error;
    }
  }

  async #untilUp<T>(order: () => Promise<T>): Promise<T> {
    for (;;) {
      this.#signal.throwIfAborted();
      try {
        return await order();
      } catch (error) {
        if (!isOutage(error) || error instanceof NoAnswer) throw error;
        await setTimeout(PAUSE[1], undefined, { signal: this.#signal });
      }
    }
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` <- ${error.cause.name}: ${error.cause.message}` : '';
  return `${error.name}: ${error.message}${cause}\n${error.stack}`;
}
