import { isGrpcServiceError, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import proto from '@temporalio/proto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DecisionReceipt } from '../../src/contract/approvals.ts';
import type { Gate, VerifyDecisionInput } from '../../src/protocol/gate.ts';
import { type GatedTurn, GateEnvironment, type ScriptedCall } from '../setup/gate-environment.ts';
import { inTier } from '../setup/tier.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const PEOPLE = ['bob', 'eve', 'joe', 'nobody'] as const;

const gate: fc.Arbitrary<Partial<Gate>> = fc.oneof(
  fc.constant({}),
  fc.constant({ allowEdit: true } as const),
  fc.constant({ attested: true } as const),
  fc.record({
    attested: fc.constant(true as const),
    quorum: fc.constantFrom(2, 3),
    allowEdit: fc.constant(true as const),
  }),
  fc.record({
    expiresIn: fc.constantFrom(1, 100_000_000),
    onExpiry: fc.constantFrom('reject', 'approve', 'escalate'),
    notifies: fc.constant(true as const),
  }),
);

const call: fc.Arbitrary<ScriptedCall> = fc.oneof(
  fc.record({ tool: fc.constant('refund'), gate }),
  fc.record({ tool: fc.constant('refund'), gate, asks: fc.array(gate, { minLength: 1, maxLength: 2 }) }),
  fc.record({ tool: fc.constant('ask'), asks: fc.array(gate, { minLength: 1, maxLength: 2 }) }),
  fc.constant({ tool: 'plain' }),
  fc.constant({ tool: 'alone', exclusive: true, gate: {} } as const),
);

const decision = fc.record({
  kind: fc.constant('decide' as const),
  way: fc.constantFrom('signal', 'update'),
  index: fc.nat(2),
  n: fc.constantFrom(1, 1, 1, 2, 3),
  confirmed: fc.boolean(),
  by: fc.option(fc.constantFrom(...PEOPLE)),
  args: fc.option(fc.constantFrom({ to: 1 }, { to: 2 }, { bad: 1 }), { freq: 3 }),
  withdraw: fc.option(fc.constant(true as const), { freq: 6 }),
});

const other = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('cancelCall' as const), index: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'restart' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'interrupt' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'cancel' as const }) },
);

const action = fc.oneof({ weight: 6, arbitrary: decision }, { weight: 1, arbitrary: other });
type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

const FAILED_PRECONDITION = 9;
const NOT_FOUND = 5;
const ENDED: ReadonlySet<number> = new Set([NOT_FOUND, FAILED_PRECONDITION]);

function grpcCode(error: unknown): number | undefined {
  if (isGrpcServiceError(error)) return error.code;
  return error instanceof Error ? grpcCode(error.cause) : undefined;
}

/** What an update has answered; undefined where it was refused, or the turn had ended. */
async function act(turn: GatedTurn, one: Action): Promise<DecisionReceipt | undefined> {
  try {
    switch (one.kind) {
      case 'decide': {
        const { way, index, n, confirmed, by, args, withdraw } = one;
        const payload = {
          requestId: turn.request(index, { n }),
          confirmed,
          ...(by === null ? {} : { attestation: `as ${by}` }),
          ...(args === null || !confirmed ? {} : { args }),
          ...(withdraw === null ? {} : { withdraw }),
        };
        if (way === 'update') return await turn.update('confirm', payload);
        await turn.signal('confirm', payload);
        return undefined;
      }
      case 'cancelCall':
        await turn.update('cancelCall', { callKey: turn.callKey(one.index) });
        return undefined;
      case 'interrupt':
        await turn.signal('interrupt', {});
        return undefined;
      case 'cancel':
        await turn.handle.cancel();
        return undefined;
      case 'restart':
        await environment.stopWorker();
        await environment.startWorker();
        return undefined;
    }
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError) return undefined;
    // The turn has ended, before this came or just when it did.
    if (ENDED.has(grpcCode(error) ?? 0)) return undefined;
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Says no to all that still waits, until the turn has ended. */
async function finish(turn: GatedTurn): Promise<void> {
  const ended = turn.result().then(
    () => true,
    () => true,
  );
  const isOver = () => Promise.race([ended, Promise.resolve(false)]);
  while (!(await isOver())) {
    const { waiting } = await turn.status().catch(() => ({ waiting: [] }));
    for (const { requestId } of waiting) {
      const payload = { requestId, confirmed: false, attestation: 'as amy' };
      await turn.signal('confirm', payload).catch(() => undefined);
    }
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20))]);
  }
}

interface Scheduled {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: each type of activity has its own.
  input: any;
  // biome-ignore lint/suspicious/noExplicitAny: each type of activity has its own.
  result?: any;
}

/** The activities of the turn as its history has them. */
async function activitiesOf(turn: GatedTurn): Promise<Scheduled[]> {
  const scheduled = new Map<string, Scheduled>();
  const json = (payloads: { payloads?: { data?: Uint8Array | null }[] | null } | null | undefined) =>
    JSON.parse(Buffer.from(payloads?.payloads?.[0]?.data ?? '').toString() || 'null');
  for (const event of await turn.history()) {
    const { activityTaskScheduledEventAttributes: begun, activityTaskCompletedEventAttributes: done } = event;
    if (begun) {
      scheduled.set(String(event.eventId), {
        type: begun.activityType?.name ?? '',
        input: json(begun.input),
      });
    }
    const one = scheduled.get(String(done?.scheduledEventId));
    if (one !== undefined) one.result = json(done?.result) ?? null;
  }
  return [...scheduled.values()];
}

const UNHANDLED_COMMAND =
  proto.temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;
const RUNS = Number(process.env.HOLDFAST_GATES_RUNS ?? inTier(2, 40));
/** Milliseconds, of the time that a test has. */
const ENOUGH = 120_000;
const DECIDED = ['approved', 'rejected', 'answered'];

async function check(turn: GatedTurn, calls: readonly ScriptedCall[], receipts: readonly DecisionReceipt[]) {
  const failed = (await turn.history()).flatMap((event) => event.workflowTaskFailedEventAttributes ?? []);
  // One that would have ended the turn when something came: it is done again.
  expect(failed.filter(({ cause }) => cause !== UNHANDLED_COMMAND)).toEqual([]);
  const activities = await activitiesOf(turn);
  const settles = activities.filter(({ type }) => type === 'holdfast.settleStep').map(({ input }) => input);
  const endedEarly = settles.some(({ ending }) => ending !== undefined);
  const unsettled = settles.flatMap((input) => input.unsettled);
  const verified: { input: VerifyDecisionInput; counts: boolean }[] = activities
    .filter(({ type }) => type === 'holdfast.verifyDecision')
    .map(({ input, result }) => ({ input, counts: result?.counts === true }));
  const entries = activities.flatMap(({ input }) => input.answered?.entries ?? input.entries ?? []);
  const ids = entries.map(({ entryId }: { entryId: string }) => entryId);

  calls.forEach((call, index) => {
    const callKey = turn.callKey(index);
    const own = activities.filter(({ input }) => input.callKey === callKey);
    const runs = own.filter(({ type }) => type === call.tool);
    const answers = runs.filter(({ result }) => result !== undefined && result.asks === undefined);
    const closed = own.filter(({ type, result }) => type === 'holdfast.closeCall' && result !== undefined);
    const open = unsettled.filter((one: { callKey: string }) => one.callKey === callKey);
    const ends = answers.length + closed.length + open.length;
    if (endedEarly) expect(ends).toBeLessThanOrEqual(1);
    else expect(ends).toBe(1);

    const behind = runs.flatMap(({ input }) => input.answered?.requestId ?? []);
    expect(new Set(behind).size).toBe(behind.length);
    // Nothing runs before its gate; a run behind nothing is the first of one without.
    expect(runs.length - behind.length).toBe(call.gate === undefined && runs.length > 0 ? 1 : 0);
    for (const { input } of runs) {
      if (input.answered === undefined) continue;
      const { requestId, entries: told } = input.answered;
      const { kind, args } = told.at(-1);
      const isFirstGate = call.gate !== undefined && requestId === turn.request(index);
      if (isFirstGate) expect(kind).toBe('approved');
      if (args !== undefined) expect(input.args).toEqual({ value: args });
      const votes = verified.filter((one) => one.input.requestId === requestId && one.counts);
      const asked = isFirstGate ? call.gate : undefined;
      if (asked?.quorum === undefined) continue;
      const approvers = new Set<string>();
      for (const { input: vote } of votes) {
        const name = vote.confirm?.attestation ?? '';
        if (vote.confirm?.withdraw) approvers.delete(name);
        else if (JSON.stringify(vote.confirm?.args) === JSON.stringify(args)) approvers.add(name);
      }
      expect(approvers.size).toBeGreaterThanOrEqual(asked.quorum);
    }
  });

  for (const [requestId, told] of Map.groupBy(receipts, (receipt) => receipt.requestId)) {
    const decided = told.filter(({ status }) => DECIDED.includes(status));
    expect(decided.length).toBeLessThanOrEqual(1);
    const status = decided[0]?.status;
    if (status === undefined) continue;
    const acted = activities.filter(({ input }) => input.answered?.requestId === requestId);
    expect(acted.length).toBeLessThanOrEqual(1);
    for (const { input } of acted) expect(input.answered.entries.at(-1).kind).toBe(status);
    const wasCancelled = unsettled.some((one: { callKey: string }) =>
      requestId.startsWith(`rq-${one.callKey}.`),
    );
    if (acted.length === 0) expect(endedEarly || wasCancelled).toBe(true);
  }
  expect(new Set(ids).size).toBe(ids.length);
}

test('whatever comes in whatever order: a call ends once, runs once for each approval and never before one, and receipts say what happened [confirm.once]', async () => {
  const enough = performance.now() + ENOUGH;
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { minLength: 1, maxLength: 3 }),
      fc.array(fc.array(action, { minLength: 1, maxLength: 5 }), { maxLength: 4 }),
      fc.boolean(),
      async (calls, batches, early) => {
        // A slow machine tries fewer of them.
        if (performance.now() > enough) return;
        const turn = environment.turn([calls]);
        const release = early ? turn.hold('holdfast.callModel') : () => undefined;
        await turn.start();
        if (early) await expect.poll(() => turn.begun.length).toBeGreaterThan(0);
        const receipts: DecisionReceipt[] = [];
        for (const [index, batch] of batches.entries()) {
          const restarts = batch.findIndex(({ kind }) => kind === 'restart');
          const once = batch.filter(({ kind }, at) => kind !== 'restart' || at === restarts);
          const answered = await Promise.all(once.map((one) => act(turn, one)));
          receipts.push(...answered.filter((receipt) => receipt !== undefined));
          if (index === 0) release();
        }
        release();
        await finish(turn);
        await check(turn, calls, receipts);
      },
    ),
    { numRuns: RUNS },
  );
});
