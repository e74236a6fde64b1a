import { randomUUID } from 'node:crypto';
import { Client, WorkflowFailedError } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { InvalidTurn } from '../../src/client/client-errors.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import type { TurnRunConfig } from '../../src/protocol/run-terms.ts';
import type { AgentTurnStart, TurnStatus } from '../../src/protocol/turn.ts';
import { error, text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** Holds a turn until the test lets it go on. */
let gate = Promise.withResolvers<void>();
let waiting = Promise.withResolvers<void>();
const wait = tool({
  name: 'wait',
  description: 'waits for the test',
  execute: async () => {
    waiting.resolve();
    await gate.promise;
    return {};
  },
});

/** Objects in each other, so many levels of them. */
function nested(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = {};
  for (let level = 1; level < levels; level += 1) value = { value };
  return value;
}

describe('HoldfastClient', () => {
  let environment: TurnEnvironment;
  let session: Pick<AgentTurnStart, 'app' | 'userId' | 'sessionId'>;

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [
        new LlmAgent({
          name: 'client',
          model: 'gemini-2.5-flash',
          tools: [wait],
          modelRetry: { maximumAttempts: 1 },
        }),
      ],
    });
  });
  afterAll(() => environment.close());

  beforeEach(() => {
    gate = Promise.withResolvers();
    waiting = Promise.withResolvers();
    session = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  });

  async function startWaitingTurn(messageId: string): Promise<TurnHandle> {
    environment.gemini.reset(stepCalls([[{ name: 'wait' }]], `answer to ${messageId}`));
    const handle = await environment.client.sendMessage({ ...session, message: 'go', messageId });
    await waiting.promise;
    return handle;
  }

  test('a message that is under way is attached to, not started again [client.attach]', async () => {
    const first = await startWaitingTurn('m1');
    const second = await environment.client.sendMessage({ ...session, message: 'go', messageId: 'm1' });
    expect(first).toMatchObject({ attached: false, disposition: 'started' });
    expect(second).toMatchObject({
      attached: true,
      disposition: 'attached',
      runId: first.runId,
      invocationId: first.invocationId,
    });
    gate.resolve();
    const result = await first.result();
    expect(result).toMatchObject({ status: 'completed', text: 'answer to m1' });
    expect(await second.result()).toEqual(result);
    expect(environment.gemini.requests).toHaveLength(2);
  });

  test('a handle that attached gives the result of its own turn, also when the next has begun [client.attach]', async () => {
    const first = await startWaitingTurn('m1');
    const attached = await environment.client.sendMessage({ ...session, message: 'go', messageId: 'm1' });
    gate.resolve();
    const result = await first.result();
    environment.gemini.reset([text('answer to m2')]);
    await (await environment.client.sendMessage({ ...session, message: 'next', messageId: 'm2' })).result();
    expect(await attached.result()).toEqual(result);
    expect(await first.result()).toEqual(result);
  });

  test('a turn that ends just then makes no session busy: the message is started [client.busy]', async () => {
    const first = await startWaitingTurn('m1');
    const client = new HoldfastClient({
      temporal: new Client({
        connection: environment.temporal.connection,
        namespace: environment.place.namespace,
        interceptors: {
          workflow: [
            {
              // Between the refused start and the look at who is running.
              async describe(input, next) {
                gate.resolve();
                await first.result();
                return await next(input);
              },
            },
          ],
        },
      }),
    });
    const second = await client.sendMessage({ ...session, message: 'next', messageId: 'm2' });
    expect(second).toMatchObject({ attached: false, disposition: 'started' });
    expect(await second.result()).toMatchObject({ status: 'completed' });
  });

  test('a message that a plain client started is the same turn, sent again [client.attach]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'wait' }]], 'plain'));
    const start = { ...session, message: 'go', messageId: 'm1' };
    await environment.temporal.workflow.start('agentTurn', {
      workflowId: `test/ada/${session.sessionId}`,
      taskQueue: 'holdfast',
      args: [start],
    });
    await waiting.promise;
    const handle = await environment.client.sendMessage(start);
    expect(handle.disposition).toBe('sent');
    expect(await handle.receipt()).toMatchObject({ status: 'running', confirmed: true });
    gate.resolve();
    const result = await handle.result();
    expect(result).toMatchObject({ text: 'plain', invocationId: handle.invocationId });
    expect(result.others).toBeUndefined();
  });

  test('a failed turn is a result, its events kept [client.failed]', async () => {
    environment.gemini.reset([error(400, 'no such thing')]);
    const handle = await environment.client.sendMessage({ ...session, message: 'go' });
    const result = await handle.result();
    expect(result).toMatchObject({
      v: 1,
      status: 'failed',
      invocationId: handle.invocationId,
      error: { code: 'HOLDFAST_MODEL_BAD_REQUEST' },
      events: { from: 1, to: 2 },
    });
    const events = await environment.store.sessions.readEvents(session);
    expect(events.map(({ kind }) => kind)).toEqual(['message', 'error']);
  });

  test('a turn that was terminated has no result, and leaves a session that goes on [client.failed]', async () => {
    const handle = await startWaitingTurn('m1');
    await environment.temporal.workflow.getHandle(handle.workflowId).terminate('by an operator');
    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
    gate.resolve();
    environment.gemini.reset([text('still here')]);
    const next = await environment.client.sendMessage({ ...session, message: 'and now?' });
    expect(await next.result()).toMatchObject({ text: 'still here' });
    expect(environment.gemini.refusals).toEqual([]);
  });

  test('names the turn by its message id; without one, by a new one each time [turn.identity]', async () => {
    environment.gemini.reset(() => text('hi'));
    const named = await environment.client.sendMessage({ ...session, message: 'hi', messageId: 'm1' });
    expect(named).toMatchObject({
      workflowId: `test/ada/${session.sessionId}`,
      messageId: 'm1',
      invocationId: invocationIdOf('test', 'ada', session.sessionId, 'm1'),
    });
    await named.result();
    const one = await environment.client.sendMessage({ ...session, message: 'hi' });
    await one.result();
    const other = await environment.client.sendMessage({ ...session, message: 'hi' });
    expect(new Set([named, one, other].map(({ invocationId }) => invocationId)).size).toBe(3);
    expect(await other.result()).toMatchObject({
      invocationId: other.invocationId,
      events: { from: 5, to: 6 },
    });
  });

  test('names and messages that could be none are refused with the field, and nothing is sent [client.invalid]', async () => {
    const send = (turn: object) => environment.client.sendMessage({ ...session, message: 'hi', ...turn });
    const circle: Record<string, unknown> = {};
    circle.again = circle;
    const wrong: [object, string][] = [
      [{ app: '' }, 'app: expected a non-empty string of well-formed Unicode'],
      [{ userId: 7 }, 'userId: expected a non-empty string'],
      [{ sessionId: '\ud800' }, 'sessionId: expected a non-empty string of well-formed Unicode'],
      [{ messageId: '' }, 'messageId: expected'],
      [{ messageId: 'm'.repeat(1_001) }, 'messageId: 1001 characters, at most 1000 are allowed'],
      [{ messageId: 'a\0b' }, 'messageId: expected a non-empty string'],
      [{ sessionId: 'a\0b' }, 'sessionId: expected a non-empty string'],
      [{ agent: 'a'.repeat(1_001) }, 'agent: 1001 characters, at most 1000 are allowed'],
      [{ agent: 'a\0b' }, 'agent: expected a non-empty string'],
      [{ agent: 7 }, 'agent: expected a non-empty string'],
      [{ message: ' ' }, 'message: expected text that isn’t blank'],
      [{ message: undefined }, 'message: expected text that isn’t blank, or a Content'],
      [{ message: { parts: [] } }, 'message.parts: expected at least one part'],
      [{ message: { parts: [{}] } }, 'message.parts[0]: expected a part with at least one field'],
      [
        { message: { parts: [{ functionCall: {} }] } },
        'message.parts[0].functionCall: expected null, since a message carries no function calls',
      ],
      [
        { message: { parts: [{ functionResponse: {} }] } },
        'message.parts[0].functionResponse.name: expected the name of its function',
      ],
      [
        { message: { parts: [{ functionResponse: { name: 'pay', response: 'done' } }] } },
        'message.parts[0].functionResponse.response: expected an object as its response',
      ],
      [
        { runConfig: { pauseOnToolCalls: 'yes' } },
        'runConfig.pauseOnToolCalls: expected true or false or nothing',
      ],
      [{ runConfig: { customMetadata: [] } }, 'runConfig.customMetadata: expected an object or nothing'],
      [
        { runConfig: { customMetadata: { all: 'x'.repeat(20_000) } } },
        'runConfig.customMetadata: 20010 bytes of JSON, at most 16384 are allowed',
      ],
      [{ message: { role: 'model', parts: [{ text: 'hi' }] } }, "message.role: expected 'user' or nothing"],
      [{ policy: 'queue' }, "policy: expected 'enqueue', 'interrupt' or 'reject' or nothing"],
      [
        { message: { parts: [{ text: 'hi', nested: nested(102) }] } },
        'message: objects and lists are nested in',
      ],
      [{ stateDelta: nested(102) }, 'stateDelta: objects and lists are nested in more than 100 levels'],
      [
        { stateDelta: circle },
        'stateDelta: objects and lists are nested in more than 100 levels, or in a circle',
      ],
      [{ stateDelta: ['a'] }, 'stateDelta: expected an object or nothing'],
      [{ priority: 6 }, 'priority: expected a whole number from 1'],
      [{ priority: 1.5 }, 'priority: expected a whole number from 1'],
      [{ runConfig: 'sse' }, 'runConfig: expected an object or nothing'],
      [{ runConfig: { maxLlmCalls: 1.5 } }, 'runConfig.maxLlmCalls: expected a whole number or nothing'],
      [
        { runConfig: { streamingMode: 'bidi' } },
        "runConfig.streamingMode: expected 'none' or 'sse' or nothing",
      ],
      [{ stateDelta: { n: 1n } }, 'message: expected JSON: Do not know how to serialize a BigInt'],
    ];
    for (const [fields, problem] of wrong) {
      const refused = send(fields);
      await expect(refused).rejects.toThrow(InvalidTurn);
      await expect(refused).rejects.toThrow(`sendMessage: ${problem}`);
    }
    expect(await environment.client.status(session)).toBeUndefined();
  });

  test('what is within its bounds travels, and run settings that nobody knows do not [client.invalid]', async () => {
    environment.gemini.reset([text('hi')]);
    const handle = await environment.client.sendMessage({
      ...session,
      message: 'hi',
      messageId: 'm'.repeat(1_000),
      stateDelta: { deep: nested(99) },
      runConfig: { maxLlmCalls: 3, unheardOf: nested(1_000) } as TurnRunConfig,
    });
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    const history = await environment.temporal.workflow.getHandle(handle.workflowId).fetchHistory();
    const [argument] = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    expect(JSON.parse(Buffer.from(argument?.data ?? []).toString())).toMatchObject({
      stateDelta: { deep: nested(99) },
      runConfig: { maxLlmCalls: 3 },
    });
    expect(Buffer.from(argument?.data ?? []).toString()).not.toContain('unheardOf');
  });

  test('the query status and the current details say what runs [turn.status]', async () => {
    const turn = await startWaitingTurn('m1');
    const handle = environment.temporal.workflow.getHandle(turn.workflowId);
    const status = await handle.query<TurnStatus>('status');
    expect(status).toEqual({
      v: 1,
      status: 'running',
      agent: 'client',
      step: 1,
      invocationId: turn.invocationId,
      since: expect.any(Number),
      running: [{ callKey: `${turn.invocationId}.1.0`, tool: 'wait', since: expect.any(Number) }],
      waiting: [],
      jobs: [],
      queued: 0,
      usage: {
        modelCalls: 1,
        promptTokens: expect.any(Number),
        outputTokens: expect.any(Number),
        totalTokens: expect.any(Number),
      },
    });
    const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toMatch(
      /\*\*client\*\*, step 1 since .* UTC\n\nrunning\n\n- `wait` 1\.0 since .* UTC\n\nspent: 1 model call, \d+ tokens/,
    );
    gate.resolve();
    await turn.result();
  });
});
