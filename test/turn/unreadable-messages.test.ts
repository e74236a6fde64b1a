import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { boundedly } from '../../activities/model/step-failures.ts';
import type { OpenStep } from '../../activities/model/step-parts.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { AskedStep } from '../../src/flows/step-draft.ts';
import { unmatchedResponses } from '../../src/flows/transcript.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import type { CallModelInput } from '../../src/protocol/step.ts';
import { asAttempt } from '../setup/activity-attempt.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const app = 'test';
const response = (more: object) => ({ functionResponse: { name: 'x', response: {}, ...more } });
const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`);

const UNREADABLE: [string, unknown, string][] = [
  ['an id that is a number', { parts: [response({ id: 5 })] }, 'message.parts'],
  ['an id that is an object', { parts: [{ text: 'a' }, response({ id: { a: 1 } })] }, 'message.parts'],
  ['a name that is no text', { parts: [response({ name: 5 })] }, 'message.parts'],
  ['a response that is no object', { parts: [response({ response: 'x' })] }, 'message.parts'],
  ['a part that is null', { parts: [{ text: 'a' }, null] }, 'message.parts[1]'],
  ['parts that are none', { parts: 5 }, 'message.parts'],
  ['a call', { parts: [{ functionCall: { id: 'c', name: 'x' } }] }, 'message.parts'],
  ['more levels than can be walked', { parts: [response({ response: { deep } })] }, 'message'],
];

let environment: TurnEnvironment;
let foreigner: ForeignWorker;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    script: stepCalls([]),
    agents: [new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash' })],
  });
  foreigner = await ForeignWorker.start(environment.temporal);
});
afterAll(async () => {
  await foreigner.close();
  await environment.close();
});

describe('a message that nobody can read, sent past all clients, blocks no session [message.unreadable]', () => {
  test.for(UNREADABLE)('%s', async ([, message, field]) => {
    const session = { app, userId: 'ada', sessionId: randomUUID() };
    const first = await environment.client.sendMessage({ ...session, message: 'hello' });
    await first.result();
    const { temporal } = environment;
    const { taskQueue } = await temporal.workflow.getHandle(first.workflowId).describe();

    const args = [{ v: 1, ...session, messageId: 'm2', message }];
    const started = temporal.workflow.execute('agentTurn', { workflowId: first.workflowId, taskQueue, args });
    await expect(started).rejects.toMatchObject({ cause: { message: expect.stringContaining(`${field}`) } });

    const names = { ...session, messageId: 'm3' };
    const invocationId = invocationIdOf(app, 'ada', session.sessionId, 'm3');
    const kept = { messageId: 'm3', invocationId, place: 1, digest: 'd', bytes: 5, message };
    const keep = { v: 1, ...session, startedAt: 1, messages: [kept] };
    expect(await foreigner.schedule('holdfast.keepMessages', keep)).toMatchObject({
      result: { messages: [{ kind: 'refused', reason: expect.stringContaining(field) }] },
    });
    const fence = { startedAt: Date.now() + 60_000, invocation: 1 };
    const step = {
      v: 1,
      identity: names,
      invocationId,
      runKey: invocationId,
      step: 1,
      seq: 0,
      fence,
      message,
    };
    expect(await foreigner.schedule('holdfast.callModel', step)).toMatchObject({
      result: {
        outcome: { error: { code: 'HOLDFAST_UNSTORABLE', message: expect.stringContaining(field) } },
      },
    });

    const next = await environment.client.sendMessage({ ...session, message: 'are you there?' });
    expect(await next.result()).toMatchObject({ status: 'completed' });
  });
});

test('responses that no call has asked for, whatever their ids are, match none [message.unreadable]', () => {
  const event = { content: { parts: [response({ id: 5 }), response({ id: null }), response({ id: 'c' })] } };
  const message = { seq: 1, kind: 'message', event } as unknown as StoredEvent;
  expect(unmatchedResponses([message], message)).toEqual(['', '', 'c']);
});

describe('an error that nobody expects [message.unreadable]', () => {
  const failures: string[] = [];
  const dependencies = {
    conceal: false,
    store: { turns: { recordStepFailure: async ({ error }: { error: string }) => failures.push(error) } },
  } as unknown as ActivityDependencies;
  const asked = { app, session: 's', invocationId: 'e-1', runKey: 'e-1', step: 1, agent: 'clerk', model: '' };
  const usage = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };

  function fails(error: Error, number: number) {
    const step = {
      asked: { ...asked, usage, prices: undefined } as unknown as AskedStep,
      opened: { session: 's', attempt: number } as OpenStep,
    };
    return asAttempt({ attempt: number }, () =>
      boundedly(dependencies, { runKey: 'e-1', step: 1 } as CallModelInput, step, async () => {
        throw error;
      }),
    );
  }

  test('is tried again by other workers, and ends the turn after the seventh attempt', async () => {
    const error = new TypeError('id.slice is not a function');
    await expect(fails(error, 6)).rejects.toBe(error);
    expect(failures).toEqual(['TypeError: id.slice is not a function']);
    expect(await fails(error, 7)).toMatchObject({
      ending: {
        status: 'failed',
        error: {
          code: 'HOLDFAST_UNEXPECTED',
          message: expect.stringContaining('id.slice is not a function'),
        },
      },
    });
  });

  test('is none where a connection is lost, which comes back', async () => {
    const error = new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') });
    await expect(fails(error, 50)).rejects.toBe(error);
  });
});
