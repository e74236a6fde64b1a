import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { bundlePath } from '../../worker/bundle.ts';
import { AesCodec } from '../setup/aes-codec.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { RawSender, raw, UNDECODABLE } from '../setup/raw-payloads.ts';
import { stepCalls } from '../setup/scripts.ts';
import { type SeededRandom, seededRandom } from '../setup/soak-random.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const held = new HeldTool();
const agent = new LlmAgent({
  name: 'cashier',
  model: 'gemini-2.5-flash',
  tools: [
    tool({ name: 'pay', description: 'd', requireConfirmation: true, execute: () => ({ paid: true }) }),
    held.tool(),
  ],
});

let environment: TurnEnvironment;
let sender: RawSender;
beforeAll(async () => {
  environment = await openTurnEnvironment({ agents: [agent], production: true });
  sender = new RawSender(environment.temporal);
});
afterAll(() => environment.close());

async function waiting(): Promise<AskingTurn> {
  environment.gemini.reset(stepCalls([[{ name: 'pay' }]]));
  const turn = await AskingTurn.start(environment);
  await turn.pending();
  return turn;
}

async function details({ handle }: AskingTurn): Promise<string> {
  const { currentDetails = '' } = await handle.query<{ currentDetails?: string }>(
    '__temporal_workflow_metadata',
  );
  return currentDetails;
}

/** It answers, and goes on to its end. */
async function expectAlive(turn: AskingTurn): Promise<void> {
  expect(await turn.handle.query('status')).toMatchObject({ status: 'waiting_approval' });
  await turn.confirm({ confirmed: true });
  expect(await turn.responses()).toEqual([{ paid: true }]);
}

async function expectReplays({ handle }: AskingTurn): Promise<void> {
  const history = await handle.fetchHistory();
  await Worker.runReplayHistory({ workflowBundle: { codePath: bundlePath() } }, history, handle.workflowId);
}

const SIGNALS = [
  'sendMessage',
  'confirm',
  'provideInput',
  'provideCredential',
  'cancelCall',
  'interrupt',
  'holdfast.progress',
  'holdfast.child',
  'holdfast.hold',
] as const;
const UPDATES = SIGNALS.slice(0, 6);

describe('what a worker can’t decode', () => {
  test.each(inTier(UNDECODABLE.slice(0, 1), UNDECODABLE))(
    '%s: is refused as a signal, and noted [payload.undecodable]',
    async (_what, payload, noted) => {
      const turn = await waiting();
      for (const name of SIGNALS) await sender.signal(turn.handle.workflowId, name, [payload]);
      await sender.signal(turn.handle.workflowId, 'unknown', [payload]);
      await expect.poll(() => details(turn)).toContain(noted.replaceAll('*', '\\*'));
      await expectAlive(turn);
      await expectReplays(turn);
    },
  );

  test.each(inTier(UNDECODABLE.slice(0, 1), UNDECODABLE))(
    '%s: is refused as an update, and as a query’s argument no matter [payload.undecodable]',
    async (_what, payload) => {
      const turn = await waiting();
      const { workflowId } = turn.handle;
      for (const name of UPDATES) {
        const { outcome } = await sender.update(workflowId, name, [payload]);
        expect([name, outcome?.failure?.message]).toEqual([name, expect.stringContaining('a payload')]);
      }
      expect((await sender.query(workflowId, 'status', [payload])).queryResult?.payloads).toHaveLength(1);
      await expectAlive(turn);
    },
  );

  test.each(inTier(UNDECODABLE.slice(0, 1), UNDECODABLE))(
    '%s: a start with it fails, and holds nobody’s id [payload.undecodable]',
    async (_what, payload) => {
      const sessionId = randomUUID();
      const workflowId = `test/ada/${sessionId}`;
      const good = raw(
        'json/plain',
        JSON.stringify({ v: 1, app: 'test', userId: 'ada', sessionId, message: 'hello' }),
      );
      const starts: [Payload[], Parameters<RawSender['start']>[2]?][] = [
        [[payload]],
        [[good, payload]],
        [[good, raw('json/plain', '{}')]],
        [[payload], { type: 'deliverNotice' }],
        [[payload], { type: 'retainSessions' }],
        [[payload], { type: 'toolJob' }],
        [[raw('json/plain', '{}')], { type: 'deliverNotice' }],
        [[raw('json/plain', '{}')], { type: 'retainSessions' }],
      ];
      for (const [payloads, more] of starts) {
        await sender.start(workflowId, payloads, more);
        const failure = environment.temporal.workflow.getHandle(workflowId).result();
        await expect(failure).rejects.toThrow(WorkflowFailedError);
        await expect(failure).rejects.toMatchObject({ cause: { type: 'InvalidStart' } });
      }
      environment.gemini.reset(stepCalls([]));
      await sender.start(workflowId, [good], { memo: { any: payload } });
      await expect(environment.temporal.workflow.getHandle(workflowId).result()).resolves.toMatchObject({
        status: 'completed',
      });
    },
  );

  test('what was refused stays refused when a worker has the codec that the client had [payload.undecodable]', async () => {
    const codec = new AesCodec(Buffer.alloc(32, 7));
    const turn = await waiting();
    const { workflowId } = turn.handle;
    const [sealed] = await codec.encode([raw('json/plain', JSON.stringify({ confirmed: true }))]);
    await sender.signal(workflowId, 'confirm', [sealed as Payload]);
    await expect.poll(() => details(turn)).toContain('binary/encrypted');
    const history = await turn.handle.fetchHistory();
    await Worker.runReplayHistory(
      { workflowBundle: { codePath: bundlePath() }, dataConverter: { payloadCodecs: [codec] } },
      history,
      workflowId,
    );
    // By the same: had the approval counted in the replay, the tool would run.
    for (const event of history.events ?? []) {
      const payloads = event.workflowExecutionSignaledEventAttributes?.input?.payloads ?? [];
      for (const [index] of payloads.entries()) payloads[index] = raw('json/plain', '{"confirmed":true}');
    }
    await Worker.runReplayHistory({ workflowBundle: { codePath: bundlePath() } }, history, workflowId);
    await expectAlive(turn);
    await expectReplays(turn);
  });

  test('a result that can’t be decoded is none: its activity has failed [payload.undecodable]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'hold' }]]));
    held.hold();
    const turn = await AskingTurn.start(environment);
    await held.begun();
    const { running } = await turn.handle.query<TurnStatus>('status');
    await environment.temporal.workflowService.respondActivityTaskCompletedById({
      namespace: environment.place.namespace,
      workflowId: turn.handle.workflowId,
      activityId: running[0]?.callKey ?? '',
      result: { payloads: [raw('binary/encrypted', 'x')] },
    });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(await turn.responses())).toContain("Error in tool 'hold'");
    await expectReplays(turn);
  });
});

describe('a reset', () => {
  test('without signals goes on without what was refused [payload.undecodable]', async () => {
    const turn = await waiting();
    const { workflowId } = turn.handle;
    await expect
      .poll(async () => await turn.handle.query('status'))
      .toMatchObject({ status: 'waiting_approval' });
    const { runId } = await turn.handle.describe();
    await sender.signal(workflowId, 'confirm', [raw('json/plain', '{not json')]);
    await expect.poll(() => details(turn)).toContain('json/plain');
    const { events = [] } = await turn.handle.fetchHistory();
    // The last task before the signal.
    const signalled = events?.findIndex((event) => event.workflowExecutionSignaledEventAttributes) ?? -1;
    const last = events
      ?.slice(0, signalled)
      .findLast(({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes);
    await environment.temporal.workflowService.resetWorkflowExecution({
      namespace: environment.place.namespace,
      workflowExecution: { workflowId, runId },
      reason: 'a signal that no worker can decode',
      requestId: randomUUID(),
      workflowTaskFinishEventId: last?.eventId ?? null,
      resetReapplyExcludeTypes: [1],
    });
    await expect
      .poll(async () => await turn.handle.query('status'))
      .toMatchObject({ status: 'waiting_approval' });
    expect(await details(turn)).not.toContain('json/plain');
    await turn.confirm({ confirmed: true });
    expect(await environment.temporal.workflow.getHandle(workflowId).result()).toMatchObject({
      status: 'completed',
    });
  });
});

describe('hostile payloads', () => {
  test.each(Array.from({ length: inTier(1, 6) }, (_none, index) => index))(
    'of any metadata and bytes leave a session alive: seed %i [payload.hostile]',
    async (seed) => {
      const random = seededRandom(`payloads ${seed}`);
      const turn = await waiting();
      const { workflowId } = turn.handle;
      for (let count = 0; count < 40; count += 1) {
        const isUpdate = random.chance(0.3);
        const name = random.pick(isUpdate ? UPDATES : SIGNALS);
        // An empty one, or none, is an order to end the turn.
        const payloads =
          name === 'interrupt'
            ? [random.pick(UNDECODABLE)[1]]
            : Array.from({ length: random.between(0, 2) }, () => hostilePayload(random));
        if (isUpdate) await sender.update(workflowId, name, payloads);
        else await sender.signal(workflowId, name, payloads);
      }
      await expectAlive(turn);
      await expectReplays(turn);
    },
  );

  if (isDeep) {
    test('of a start leave its id free [payload.hostile]', async () => {
      const random = seededRandom('starts');
      for (let count = 0; count < 40; count += 1) {
        const sessionId = randomUUID();
        const workflowId = `test/ada/${sessionId}`;
        environment.gemini.reset(stepCalls([]));
        const payloads = Array.from({ length: random.between(0, 3) }, () => hostilePayload(random));
        await sender.start(workflowId, payloads);
        await environment.temporal.workflow
          .getHandle(workflowId)
          .result()
          .catch(() => undefined);
        const result = await environment.run({ app: 'test', userId: 'ada', sessionId, message: 'hello' });
        expect(result.result).toMatchObject({ status: 'completed' });
      }
    });
  }
});

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1e300,
  '',
  'x',
  [],
  [[]],
  {},
  { v: 1 },
  { v: 99 },
  { v: 'x' },
  { requestId: {} },
  { requestId: 'req-x', confirmed: true },
  { callKey: [], confirmed: true },
  { callId: 7, reason: {} },
  { confirmed: 'yes' },
  { messageId: {} },
  { messageId: 'm', message: {} },
  { messageId: 'm', message: { parts: [null] } },
  { messageId: 'm', message: { parts: [{ functionResponse: null }] } },
  { messageId: 'm', message: { role: 'model', parts: [{ text: 'x' }] } },
  { messageId: '\u0000', message: 'x' },
  { messageId: '\ud800', message: 'x' },
  { orderId: {}, invocationId: {} },
  { jobId: 'j', progress: { at: -1e300, value: 2 } },
  { jobId: 'j', progress: { at: 1e300, message: [] } },
  { runKey: 'x', status: 'running', since: -1e300, waits: [{}], more: 1e9 },
  { runKey: {}, status: {}, waits: {} },
  { __proto__: null, constructor: null, toString: null, hasOwnProperty: 1 },
  { v: 1, app: 'test', userId: 'ada', sessionId: {}, message: 'x' },
  { child: {}, app: 1 },
  { ownCall: {}, retryOf: {} },
];

function hostilePayload(random: SeededRandom): Payload {
  const bytes = (most: number) =>
    Uint8Array.from({ length: random.between(0, most) }, () => random.between(0, 255));
  const kind = random.next();
  if (kind < 0.45) {
    const value = random.pick(VALUES);
    const json = random.chance(0.1) ? '['.repeat(5_000) + ']'.repeat(5_000) : JSON.stringify(value);
    return raw('json/plain', random.chance(0.1) ? json.slice(0, -1) : json);
  }
  const encoding = random.pick([
    bytes(3),
    '',
    'json/plain',
    'json/protobuf',
    'binary/plain',
    'binary/null',
    'binary/encrypted',
    'binary/zlib',
    '__proto__',
    bytes(40),
  ]);
  const payload = raw(random.chance(0.1) ? undefined : encoding, bytes(200));
  if (random.chance(0.2)) return { ...payload, metadata: {} };
  if (random.chance(0.2))
    return { ...payload, metadata: { ...payload.metadata, [`m${random.between(0, 9)}`]: bytes(20) } };
  return payload;
}
