import { randomUUID } from 'node:crypto';
import { activityInfo, Context } from '@temporalio/activity';
import { Client, Connection, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { DecisionReceipt } from '../../src/contract/approvals.ts';
import {
  type Gate,
  requestIdOf,
  type VerifiedDecision,
  type VerifyDecisionInput,
} from '../../src/protocol/gate.ts';
import { callKeyOf, invocationIdOf, jobIdOf } from '../../src/protocol/identity.ts';
import type { DeliverJobInput, RecordJobInput, WaitingJob } from '../../src/protocol/job.ts';
import type { ToolSchedule } from '../../src/protocol/run-terms.ts';
import type {
  CallModelInput,
  CloseCallInput,
  KeepMessagesInput,
  KeepMessagesResult,
  SettleStepInput,
  SettleStepResult,
  StepOutcome,
  ToolCallInput,
  ToolCallResult,
} from '../../src/protocol/step.ts';
import type { TurnResult, TurnStatus } from '../../src/protocol/turn.ts';
import { testWorkflowBundle } from '../../worker/bundle.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { ownNamespace, type TemporalPlace } from './own-namespace.ts';
import { type ScriptedJob, ScriptedJobs } from './scripted-jobs.ts';
import { until } from './until.ts';

/** A call as a model would ask for it, and what it asks people. */
export interface ScriptedCall {
  tool: string;
  callId?: string;
  /** It waits for this before it runs. */
  gate?: Partial<Gate>;
  /** What its runs ask, one after another; the one behind them answers. */
  asks?: Partial<Gate>[];
  /** Its tool begins this, and returns. */
  job?: ScriptedJob;
  exclusive?: true;
  summary?: string;
}

/** An activity that has begun. */
export interface Begun {
  type: string;
  activityId: string;
  // biome-ignore lint/suspicious/noExplicitAny: each type of activity has its own.
  input: any;
}

interface Script {
  steps: readonly (readonly ScriptedCall[])[];
  maxParallelCalls: number;
  timeLeft: number | undefined;
  begun: Begun[];
  holds: Map<string, Promise<void>>;
  runs: Map<string, number>;
}

const SCHEDULE: ToolSchedule = { startToClose: 60_000, scheduleToClose: 600_000, heartbeat: 60_000 };
const USAGE = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };

/** A real Temporal server and the real workflow; its activities follow a script: tests of the workflow alone. */
export class GateEnvironment {
  readonly temporal: Client;
  readonly jobs: ScriptedJobs;
  readonly #connection: Connection;
  readonly #native: NativeConnection;
  readonly #place: TemporalPlace;
  readonly #scripts = new Map<string, Script>();
  #worker: { worker: Worker; running: Promise<void> } | undefined;

  private constructor(parts: {
    connection: Connection;
    native: NativeConnection;
    place: TemporalPlace;
  }) {
    this.#connection = parts.connection;
    this.#native = parts.native;
    this.#place = parts.place;
    this.temporal = new Client({ connection: parts.connection, namespace: parts.place.namespace });
    this.jobs = new ScriptedJobs(this.temporal);
  }

  static async open(): Promise<GateEnvironment> {
    Runtime.install({
      logger: new DefaultLogger('ERROR', ({ message, meta }) =>
        process.stderr.write(`${message} ${String(meta?.error)}\n`),
      ),
    });
    const place = await ownNamespace();
    const { address } = place;
    const connection = await Connection.connect({ interceptors: retriesUntilClosed(), address });
    const native = await NativeConnection.connect({ address });
    const environment = new GateEnvironment({ connection, native, place });
    await environment.startWorker();
    return environment;
  }

  turn(steps: Script['steps'], fields: { maxParallelCalls?: number; timeLeft?: number } = {}): GatedTurn {
    const script: Script = {
      steps,
      maxParallelCalls: fields.maxParallelCalls ?? 32,
      timeLeft: fields.timeLeft,
      begun: [],
      holds: new Map(),
      runs: new Map(),
    };
    const turn = new GatedTurn(this, script);
    this.#scripts.set(turn.names.sessionId, script);
    return turn;
  }

  async startWorker(options: { maxCachedWorkflows?: number } = {}): Promise<void> {
    const worker = await Worker.create({
      connection: this.#native,
      namespace: this.#place.namespace,
      taskQueue: 'holdfast',
      workflowBundle: await testWorkflowBundle(),
      activities: this.#activities(),
      stickyQueueScheduleToStartTimeout: '1s',
      maxHeartbeatThrottleInterval: '1s',
      defaultHeartbeatThrottleInterval: '1s',
      shutdownGraceTime: 0,
      ...options,
    });
    this.#worker = { worker, running: worker.run() };
  }

  async stopWorker(): Promise<void> {
    this.#worker?.worker.shutdown();
    await this.#worker?.running;
    this.#worker = undefined;
  }

  async close(): Promise<void> {
    await this.stopWorker();
    await this.#native.close();
    await this.#connection.close();
  }

  #activities() {
    const begin = async (session: string, input: unknown): Promise<Script> => {
      const script = this.#scripts.get(session);
      if (script === undefined) throw ApplicationFailure.nonRetryable(`no script for ${session}`);
      const { activityType: type, activityId } = activityInfo();
      script.begun.push({ type, activityId, input });
      const task = (input as Partial<ToolCallInput>).job?.do;
      const held = script.holds.get(task === undefined ? type : `${type}/${task}`);
      await Promise.race([held, Context.current().cancelled]);
      return script;
    };
    return {
      'holdfast.callModel': async (input: CallModelInput): Promise<StepOutcome> => {
        const session = input.session ?? input.identity?.sessionId ?? '';
        return planOf(await begin(session, input), session, input);
      },
      'holdfast.settleStep': async (input: SettleStepInput): Promise<SettleStepResult> => {
        const { ending } = input;
        await begin(input.session ?? input.identity?.sessionId ?? '', input);
        const settled = { v: 1, seq: input.seq + 1, from: 1 };
        if (ending === undefined) return settled;
        const { status, error, usage } = ending;
        return { ...settled, outcome: { status, usage, ...(error === undefined ? {} : { error }) } };
      },
      'holdfast.keepMessages': async (input: KeepMessagesInput): Promise<KeepMessagesResult> => {
        await begin(input.sessionId, input);
        return { v: 1, messages: input.messages.map(({ messageId }) => ({ messageId, kind: 'kept' })) };
      },
      'holdfast.closeCall': async (input: CloseCallInput): Promise<ToolCallResult> => {
        await begin(input.session, input);
        return { v: 1, response: { value: { error: 'This tool call is rejected.' } }, failed: true };
      },
      'holdfast.verifyDecision': async (input: VerifyDecisionInput): Promise<VerifiedDecision> => {
        await begin(input.session, input);
        return verdictOn(input);
      },
      'holdfast.recordEntries': async (input: { session: string }): Promise<void> => {
        await begin(input.session, input);
      },
      'holdfast.notify': async (input: { session: string }): Promise<void> => {
        await begin(input.session, input);
      },
      'holdfast.recordJob': async (input: RecordJobInput) => {
        await begin(input.session, input);
        return await this.jobs.record(input);
      },
      'holdfast.deliverJob': async (input: DeliverJobInput) => {
        await begin(input.session, input);
        return this.jobs.deliver(input);
      },
      default: async (input: ToolCallInput): Promise<unknown> => {
        const jobId = jobIdOf(input.session, input.callKey);
        const job = callOf(this.#scripts.get(input.session), input.callKey)?.job;
        if (job !== undefined && job.undeclared === undefined) this.jobs.open(jobId);
        const script = await begin(input.session, input);
        if (input.job !== undefined) return this.jobs.run(input.job, job);
        const run = script.runs.get(input.callKey) ?? 0;
        script.runs.set(input.callKey, run + 1);
        const call = callOf(script, input.callKey);
        const asks = call?.asks?.[run];
        const before = call?.gate === undefined ? 0 : 1;
        if (asks !== undefined) return { v: 1, asks: gateOf(input.callKey, asks, run + 1 + before, true) };
        if (job !== undefined) return this.jobs.began(jobId, job);
        return { v: 1, response: { value: { done: run + 1 } } };
      },
    };
  }
}

function callOf(script: Script | undefined, callKey: string): ScriptedCall | undefined {
  const [step, index] = callKey.split('.').slice(-2).map(Number);
  return script?.steps[(step ?? 0) - 1]?.[index ?? 0];
}

/** Attestations of these tests are `as NAME`; who has none is unverified, and counts for nothing where one is needed. */
function verdictOn({ confirm, input }: VerifyDecisionInput): VerifiedDecision {
  const name = /^as (\w+)/.exec(confirm?.attestation ?? '')?.[1];
  if (name === 'nobody') return { v: 1, counts: false, reason: 'nobody may not decide' };
  if (input?.response === 'wrong') return { v: 1, counts: false, reason: 'response: expected another one' };
  const by =
    name === undefined ? { principal: 'unverified', verified: false } : { principal: name, verified: true };
  if (confirm?.args?.bad !== undefined) return { v: 1, counts: false, reason: 'args.bad: not allowed', by };
  return { v: 1, counts: true, by, ...(confirm?.args ? { args: { value: confirm.args } } : {}) };
}

function gateOf(callKey: string, gate: Partial<Gate>, n: number, inside: boolean): Gate {
  return {
    requestId: requestIdOf(callKey, n),
    kind: 'confirmation',
    hint: `may ${callKey} run?`,
    ...(inside ? { inside: true } : {}),
    ...gate,
  };
}

function planOf(script: Script, session: string, input: CallModelInput): StepOutcome {
  const { timeLeft } = script;
  const limited = timeLeft === undefined ? {} : { timeLeft };
  const first = input.step === 1 ? { searchAttributes: true as const, ...limited } : {};
  const told = { v: 1, session, seq: input.seq + 1, agent: 'fake', ...first };
  // Messages behind the first one are answered at once.
  const isFirst = input.runKey === invocationIdOf('test', 'ada', session, 'go');
  const step = isFirst ? script.steps[input.step - 1] : undefined;
  if (step === undefined) {
    const outcome = { status: 'completed', text: 'done', usage: USAGE } as const;
    return { ...told, kind: 'final', from: 1, outcome };
  }
  return {
    ...told,
    kind: 'calls',
    model: 'fake',
    maxParallelCalls: script.maxParallelCalls,
    usage: USAGE,
    schedules: Object.fromEntries(
      step.map(({ tool, exclusive }) => [tool, { ...SCHEDULE, ...(exclusive ? { exclusive } : {}) }]),
    ),
    calls: step.map(({ tool, callId, gate, summary }, index) => {
      const callKey = callKeyOf(input.runKey, input.step, index);
      return {
        callKey,
        callId: callId ?? `id-${input.step}-${index}`,
        tool,
        args: { value: { n: index } },
        ...(summary === undefined ? {} : { summary }),
        ...(gate === undefined ? {} : { prepared: true, gate: gateOf(callKey, gate, 1, false) }),
      };
    }),
  };
}

/** What an update that was refused says. */
export interface Refused {
  type: string | null | undefined;
  message: string;
}

async function refused(answer: Promise<unknown>): Promise<Refused> {
  try {
    throw new Error(`it was not refused: ${JSON.stringify(await answer)}`);
  } catch (error) {
    if (!(error instanceof WorkflowUpdateFailedError)) throw error;
    if (!(error.cause instanceof ApplicationFailure)) throw error;
    return { type: error.cause.type, message: error.cause.message };
  }
}

/** A turn of one script. */
export class GatedTurn {
  readonly names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  readonly workflowId = `test/ada/${this.names.sessionId}`;
  readonly runKey = invocationIdOf('test', 'ada', this.names.sessionId, 'go');
  readonly #environment: GateEnvironment;
  readonly #script: Script;

  constructor(environment: GateEnvironment, script: Script) {
    this.#environment = environment;
    this.#script = script;
  }

  get handle() {
    return this.#environment.temporal.workflow.getHandle(this.workflowId);
  }

  get begun(): readonly Begun[] {
    return this.#script.begun;
  }

  /** The activities that have begun, by type, those of model steps left out. */
  get types(): string[] {
    return this.begun.map(({ type }) => type).filter((type) => type !== 'holdfast.callModel');
  }

  inputs(type: string) {
    return this.begun.filter((one) => one.type === type).map(({ input }) => input);
  }

  request(index = 0, { step = 1, n = 1 } = {}): string {
    return requestIdOf(this.callKey(index, step), n);
  }

  callKey(index = 0, step = 1): string {
    return callKeyOf(this.runKey, step, index);
  }

  jobId(index = 0, step = 1): string {
    return jobIdOf(this.names.sessionId, this.callKey(index, step));
  }

  /** What the turn waits for, once it is so many jobs. */
  async parked(count = 1): Promise<WaitingJob[]> {
    return await until(async () => {
      const { jobs } = await this.status();
      if (jobs.length === count) return jobs;
      throw new Error(`it waits for ${jobs.length} jobs, and not for ${count}`);
    });
  }

  /** Activities of this type, `<tool>/<task>` where they are tasks of a job, wait until what is returned is called. */
  hold(type: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#script.holds.set(type, promise);
    return () => {
      this.#script.holds.delete(type);
      resolve();
    };
  }

  start(fields: object = {}) {
    return this.#environment.temporal.workflow.start('agentTurn', {
      workflowId: this.workflowId,
      taskQueue: 'holdfast',
      // What a worker takes with it when it ends is missed after this time; ten seconds without it.
      workflowTaskTimeout: '3s',
      args: [{ v: 1, ...this.names, message: 'go', messageId: 'go', ...fields }],
    });
  }

  signal(name: string, payload: object) {
    return this.handle.signal(name, payload);
  }

  update<Receipt = DecisionReceipt>(name: string, payload: object): Promise<Receipt> {
    return this.handle.executeUpdate<Receipt, [object]>(name, { args: [payload] });
  }

  /** What the update that is given is refused with. */
  refusal(name: string, payload: object): Promise<Refused> {
    return refused(this.update(name, payload));
  }

  /** The same, of an update that the workflow has taken up by now. */
  async lateRefusal(name: string, payload: object): Promise<{ refused: Promise<Refused> }> {
    const handle = await this.handle.startUpdate(name, { args: [payload], waitForStage: 'ACCEPTED' });
    return { refused: refused(handle.result()) };
  }

  /** A worker that has just come, or reads histories again, may not answer at once. */
  status(): Promise<TurnStatus> {
    return until(() => this.handle.query<TurnStatus>('status'));
  }

  async details(): Promise<string> {
    const metadata = await this.handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    return metadata.currentDetails ?? '';
  }

  async result(): Promise<TurnResult> {
    return (await this.handle.result()) as TurnResult;
  }

  /** Types of the history's events, from a type on where one is given. */
  async history() {
    return (await this.handle.fetchHistory()).events ?? [];
  }
}
