import { setTimeout } from 'node:timers/promises';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { decisionOf, signDecision } from '../../src/approvals/decision-attestation.ts';
import {
  AmbiguousRequest,
  DecisionRefused,
  NoAnswer,
  RequestNotFound,
  RequestNotPending,
  UnknownCall,
} from '../../src/client/client-errors.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { Confirm, DecisionReceipt } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { REQUEST_CONFIRMATION_FUNCTION_CALL_NAME } from '../../src/events/request-calls.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { requestIdOf } from '../../src/protocol/gate.ts';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import { APPROVERS } from '../setup/gated-apps.ts';
import type { GatedStage } from '../setup/gated-stage.ts';
import { isOutage } from '../setup/outage-errors.ts';
import { type SeededRandom, seededRandom } from '../setup/soak-random.ts';
import { messageOf } from './model.ts';
import type { GatedScenario, GatedTurn } from './plan.ts';
import type { Said } from './said.ts';

/** What came of a scenario, as those who took part saw it. */
export interface PlayedScenario {
  scenario: GatedScenario;
  /** Those that were sent. */
  turns: GatedTurn[];
  said: Said[];
  /** Calls that somebody has cancelled. */
  cancelled: Set<string>;
  /** What ended a turn was done: before that its calls are like those of any other. */
  broken: boolean;
  /** What was thrown that is no outage and no refusal. */
  problems: string[];
}

/** What somebody can be told who decides. */
const REFUSALS = [
  AmbiguousRequest,
  DecisionRefused,
  RequestNotFound,
  RequestNotPending,
  NoAnswer,
  UnknownCall,
];

/** So many acts are whatever comes; those behind them only let the turns end. */
const MOST_ACTS = 10;
const MOST_LOOKS = 60;
const LOOKS_TO_RESEND = 20;

/** Milliseconds between two acts. */
const PAUSE = [20, 250] as const;

/** Before the same decision is given again, milliseconds. */
const REPEAT = 3_000;

/** Plays the people around one session: they decide, twice and otherwise, early and late, and stop what runs. */
export class Actor {
  readonly #stage: GatedStage;
  readonly #random: SeededRandom;
  readonly #played: PlayedScenario;
  readonly #signal: AbortSignal;
  /** Requests that were seen, closed ones included. */
  readonly #seen = new Map<string, ApprovalRow>();
  /** When what had to be decided was, last. */
  readonly #finished = new Map<string, number>();
  /** At what waited. */
  #acts = 0;
  #looks = 0;

  /** @param signal ends a scenario that doesn't end. */
  constructor(stage: GatedStage, scenario: GatedScenario, seed: number, signal: AbortSignal) {
    this.#stage = stage;
    this.#random = seededRandom(`${seed} ${scenario.names.sessionId}`);
    this.#signal = signal;
    const cancelled = new Set<string>();
    this.#played = { scenario, turns: [], said: [], cancelled, broken: false, problems: [] };
  }

  async play(): Promise<PlayedScenario> {
    const { scenario, turns } = this.#played;
    try {
      for (const turn of scenario.turns) {
        await this.#send(turn);
        if (this.#random.chance(0.3)) await this.#early(turn);
        if (!scenario.together) await this.#untilEnded([turn]);
      }
      await this.#untilEnded(turns);
    } catch (error) {
      this.#played.problems.push(describe(error));
    }
    return this.#played;
  }

  get #handle() {
    const { app, userId, sessionId } = this.#played.scenario.names;
    return this.#stage.temporal.workflow.getHandle(workflowIdOf(app, userId, sessionId));
  }

  async #send(turn: GatedTurn): Promise<TurnHandle> {
    const { names } = this.#played.scenario;
    if (!this.#played.turns.includes(turn)) this.#played.turns.push(turn);
    return await this.#untilUp(() =>
      this.#stage.client.sendMessage({ ...names, message: messageOf(turn), messageId: turn.messageId }),
    );
  }

  /** What was accepted by a workflow that was being ended, or has ended since, is sent again, as clients do. */
  async #sendLost(): Promise<void> {
    const { names } = this.#played.scenario;
    const status = await this.#untilUp(() => this.#handle.describe());
    if (status.status.name === 'RUNNING') return;
    for (const turn of this.#played.turns) {
      const found = await this.#stage.store.turns.findInvocation(names, turn.invocationId);
      if (found === undefined || found.status === 'running') await this.#send(turn);
    }
  }

  async #untilEnded(turns: readonly GatedTurn[]): Promise<void> {
    const { names } = this.#played.scenario;
    for (;;) {
      const found = await Promise.all(
        // Of those that come meanwhile, too.
        [...turns, ...this.#played.turns].map(({ invocationId }) =>
          this.#stage.store.turns.findInvocation(names, invocationId),
        ),
      );
      if (found.every((one) => one !== undefined && one.status !== 'running')) return;
      await this.#act();
      await setTimeout(this.#random.between(...PAUSE), undefined, { signal: this.#signal });
    }
  }

  async #act(): Promise<void> {
    const { names } = this.#played.scenario;
    const pending = await this.#stage.store.approvals.list(names);
    for (const row of pending) this.#seen.set(row.requestId, row);
    this.#looks += 1;
    if (pending.length > 0) this.#acts += 1;
    if (this.#looks % LOOKS_TO_RESEND === 0) await this.#sendLost();
    if (this.#isToBreak()) return await this.#break();
    if (this.#acts > MOST_ACTS || this.#looks > MOST_LOOKS) return await this.#finish(pending);
    if (pending.length === 0) return this.#random.chance(0.2) ? await this.#late() : undefined;
    const row = this.#random.pick(pending);
    const act = this.#random.next();
    if (act < 0.5) return await this.#decide(row, this.#random.chance(0.6));
    if (act < 0.6) return await this.#opposites(row);
    if (act < 0.7) return await this.#mistake(row);
    if (act < 0.76) return await this.#cancelCall(row.callKey);
    if (act < 0.79) await this.#stage.worker.kill();
  }

  #isToBreak(): boolean {
    const { scenario, broken } = this.#played;
    if (broken || scenario.breaks === 'none') return false;
    return this.#acts > scenario.breakAfter || this.#looks > MOST_LOOKS;
  }

  /** Answers what waits until nothing does; what expires by itself may do so. */
  async #finish(pending: readonly ApprovalRow[]): Promise<void> {
    for (const row of pending) {
      const { requestId, tool } = row;
      if (Date.now() < (this.#finished.get(requestId) ?? 0) + REPEAT) continue;
      this.#finished.set(requestId, Date.now());
      const confirmed = !this.#declines(requestId);
      const voters =
        tool === 'pay_quorum' ? APPROVERS : tool === 'pay_escalated' ? (['mira'] as const) : [undefined];
      for (const by of voters) await this.#say(row, { confirmed }, { by, way: 'signal' });
    }
  }

  /** The same each time. */
  #declines(requestId: string): boolean {
    return seededRandom(requestId).chance(0.3);
  }

  async #decide(row: ApprovalRow, confirmed: boolean): Promise<void> {
    const { tool, args } = row;
    const isSigned = tool === 'pay_quorum' || tool === 'pay_escalated';
    const edits = tool === 'pay_edited' && confirmed && this.#random.chance(0.5);
    const edited = edits ? { args: { ...args, amount: Number(args.amount) + 100 } } : {};
    const times = this.#random.chance(0.3) ? 2 : 1;
    const way = this.#way(isSigned || edits);
    const by = isSigned && this.#random.chance(0.9) ? this.#random.pick(APPROVERS) : undefined;
    for (let n = 0; n < times; n += 1) await this.#say(row, { confirmed, ...edited }, { by, way });
  }

  /** Yes and no at once. */
  async #opposites(row: ApprovalRow): Promise<void> {
    await Promise.all(
      this.#random
        .shuffled([true, false])
        .map((confirmed) => this.#say(row, { confirmed }, { way: this.#way() })),
    );
  }

  /** What is no decision, or one for nothing. */
  async #mistake({ requestId, callKey }: ApprovalRow): Promise<void> {
    const payload = this.#random.pick([
      { requestId, confirmed: 'yes' },
      { callKey },
      { requestId: `${requestId}0`, confirmed: true },
      { requestId, confirmed: true, args: { amount: 1_000_000 }, attestation: 'eyJhbGciOiJub25lIn0.e30.' },
      { requestId, confirmed: true, attestation: 'mira' },
    ]);
    await this.#untilDone(() => this.#handle.signal('confirm', payload));
  }

  /** Before anybody was asked. */
  async #early({ steps: [calls = []] }: GatedTurn): Promise<void> {
    const call = this.#random.pick(calls);
    const request = { requestId: requestIdOf(call.callKey, 1), callKey: call.callKey, tool: call.tool };
    await this.#say(request, { confirmed: this.#random.chance(0.5) }, { way: 'signal' });
  }

  /** About what was decided before. */
  async #late(): Promise<void> {
    if (this.#seen.size === 0) return;
    const row = this.#random.pick([...this.#seen.values()]);
    await this.#say(row, { confirmed: this.#random.chance(0.5) }, { way: this.#way() });
  }

  async #cancelCall(callKey: string): Promise<void> {
    this.#played.cancelled.add(callKey);
    await this.#untilDone(() =>
      this.#random.chance(0.5)
        ? this.#handle.signal('cancelCall', { callKey })
        : this.#stage.client.cancelCall(this.#played.scenario.names, { callKey }),
    );
  }

  async #break(): Promise<void> {
    const { breaks, following, turns: planned } = this.#played.scenario;
    this.#played.broken = true;
    const [first] = planned;
    if (first === undefined) return;
    if (breaks === 'interrupt') {
      await this.#untilDone(() => this.#handle.signal('interrupt', {}));
      return;
    }
    await this.#untilDone(() =>
      breaks === 'cancel' ? this.#handle.cancel() : this.#handle.terminate('by the test'),
    );
    // What was queued behind it may be lost with it.
    const again = breaks === 'resend' ? this.#played.turns : [...this.#played.turns.slice(1), following];
    for (const turn of again) await this.#send(turn);
  }

  /** @param needsMore it has more than ADK's form can carry. */
  #way(needsMore = false): Said['way'] {
    return this.#random.pick(
      needsMore
        ? (['signal', 'update', 'client'] as const)
        : (['signal', 'update', 'client', 'message'] as const),
    );
  }

  async #say(
    row: Pick<ApprovalRow, 'requestId' | 'callKey'> & Partial<ApprovalRow>,
    decision: Pick<Confirm, 'args'> & { confirmed: boolean },
    { by, way }: { by?: string | undefined; way: Said['way'] },
  ): Promise<void> {
    const { requestId, callKey } = row;
    const said: Said = { requestId, callKey, ...decision, way, ...(by === undefined ? {} : { by }) };
    this.#played.said.push(said);
    const attestation = by === undefined ? {} : { attestation: await this.#signed(row, decision, by) };
    const confirm: Confirm = { ...decision, ...attestation };
    said.answer = await this.#untilDone(() => this.#give(requestId, confirm, way));
  }

  async #give(requestId: string, confirm: Confirm, way: Said['way']): Promise<string> {
    const { client } = this.#stage;
    const { names } = this.#played.scenario;
    if (way === 'signal') {
      await this.#handle.signal('confirm', { requestId, ...confirm });
      return 'sent';
    }
    if (way === 'update') {
      const { status } = await this.#handle.executeUpdate<DecisionReceipt, [Confirm]>('confirm', {
        args: [{ requestId, ...confirm }],
      });
      return status;
    }
    if (way === 'client') {
      const receipt = await client.approvals.confirm({ ...names, requestId }, confirm);
      return receipt.confirmed ? receipt.status : 'sent';
    }
    const functionResponse = {
      id: requestId,
      name: REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
      response: { confirmed: confirm.confirmed },
    };
    await client.sendMessage({ ...names, message: { role: 'user', parts: [{ functionResponse }] } });
    return 'sent';
  }

  async #signed(
    { session = '', requestId, argsDigest = '' }: Partial<ApprovalRow>,
    decision: Confirm,
    by: string,
  ): Promise<string> {
    const key = this.#stage.keys.get(by);
    if (key === undefined || requestId === undefined) throw new Error(`${by} has no key`);
    const edited = decision.args === undefined ? {} : { editedArgsDigest: digestOf(decision.args) };
    const asked = { session, requestId, argsDigest };
    const claims = { issuer: key.issuer, approver: by, ...asked, channel: 'test', ...edited };
    return await signDecision({ ...claims, decision: decisionOf(decision) }, key.privateKey);
  }

  /** @returns what was answered, or the name of the refusal. */
  async #untilDone(order: () => Promise<unknown>): Promise<string> {
    try {
      return String(await this.#untilUp(order));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'no run';
      if (REFUSALS.some((refusal) => error instanceof refusal)) return (error as Error).name;
      const { cause } = error as { cause?: unknown };
      if (error instanceof WorkflowUpdateFailedError && cause instanceof ApplicationFailure)
        return cause.type ?? '';
      throw error;
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
