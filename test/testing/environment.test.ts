import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import {
  call,
  createTestEnvironment,
  error,
  type HoldfastMatchers,
  holdfastMatchers,
  stopped,
  type TestEnvironment,
  text,
} from '../../src/testing/index.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { findServers } from '../../worker/temporal/server-process.ts';
import { isDeep, someOf } from '../setup/tier.ts';

expect.extend(holdfastMatchers);
declare module 'vitest' {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown>
    extends HoldfastMatchers<R> {}
}

let release = Promise.withResolvers<void>();
let begun = Promise.withResolvers<void>();

const lookUp = tool({
  name: 'look_up',
  description: 'Looks an order up.',
  parameters: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, status: 'shipped' }),
});
const hold = tool({
  name: 'hold',
  description: 'Waits.',
  execute: async (_args, { attempt, abortSignal }) => {
    begun.resolve();
    if (attempt === 1) {
      await Promise.race([
        release.promise,
        new Promise((_done, fail) => abortSignal.addEventListener('abort', () => fail(abortSignal.reason))),
      ]);
    }
    return { attempt };
  },
});
const desk = new LlmAgent({
  name: 'desk',
  model: 'gemini-2.5-flash',
  tools: [lookUp, hold],
  modelRetry: { maximumAttempts: 1 },
  beforeAgentCallback: ({ state }) => {
    const closed = state.get<string>('closed');
    return closed === undefined ? undefined : { role: 'model', parts: [{ text: closed }] };
  },
});

let env: TestEnvironment;
beforeAll(async () => {
  env = await createTestEnvironment({ apps: [new App({ name: 'shop', rootAgent: desk })] });
});
afterAll(() => env.close());
beforeEach(() => {
  release = Promise.withResolvers();
  begun = Promise.withResolvers();
});

describe('a test environment', () => {
  test('runs a turn for real: its answer, calls, events [testing.environment]', async () => {
    env.gemini.reset([call('look_up', { id: 'A-1' }), text('Shipped.')]);
    const turn = await env.run('Where is A-1?');
    expect(turn).toMatchObject({ app: 'shop', userId: 'user', status: 'completed', text: 'Shipped.' });
    expect(turn.calls).toEqual([
      { tool: 'look_up', args: { id: 'A-1' }, response: { id: 'A-1', status: 'shipped' } },
    ]);
    expect(turn.events.map(({ kind }) => kind)).toEqual(['message', 'model', 'responses', 'model']);
    expect(env.gemini.refusals).toEqual([]);
    const { status } = await env.temporal.workflow.getHandle(turn.workflowId).describe();
    expect(status.name).toBe('COMPLETED');
  });

  test('goes on with a session, and leaves other turns out [testing.environment]', async () => {
    env.gemini.reset([text('one'), text('two')]);
    const { sessionId } = await env.run('first');
    const second = await env.run({ sessionId, message: 'second' });
    expect(second.text).toBe('two');
    expect(second.events.map(({ seq }) => seq)).toEqual([3, 4]);
  });

  test.each(someOf(['We are closed.', 'Closed. '.repeat(1_000)]))(
    'what a callback answers is the answer: %.20s [testing.environment]',
    async (closed) => {
      const turn = await env.run({ message: 'Where is A-1?', stateDelta: { closed } });
      expect(turn).toMatchObject({ status: 'completed', text: closed, usage: { modelCalls: 0 } });
    },
  );

  test('restarts its worker in the middle of a tool, which is tried again [testing.environment]', async () => {
    env.gemini.reset([call('hold'), text('held')]);
    const handle = await env.send('hold');
    await begun.promise;
    await env.restartWorker();
    const turn = await env.turnOf(handle);
    expect(turn.calls[0]?.response).toEqual({ attempt: 2 });
    expect(turn.text).toBe('held');
  });

  test('keeps messages while its worker is stopped [testing.environment]', async () => {
    env.gemini.reset([text('late')]);
    await env.stopWorker();
    const handle = await env.send('hello');
    await env.restartWorker();
    expect((await env.turnOf(handle)).text).toBe('late');
  });

  test('answers over HTTP too [testing.environment]', async () => {
    const about = await fetch(`${env.gateway.url}/v1/about`, {
      headers: { authorization: `Bearer ${env.gateway.token}` },
    });
    expect(await about.json()).toMatchObject({ apps: ['shop'], agents: ['desk'], store: 'embedded' });
  });

  test('tells what a retried turn called anew [testing.environment]', async () => {
    env.gemini.reset([call('look_up', { id: 'A-1' }), text('Shipped.'), text('Again.')]);
    const { app, userId, sessionId, invocationId } = await env.run('Where is A-1?');
    const names = { app, userId, sessionId };
    const again = await env.turnOf(
      await env.client.sessions.retry({ ...names, callKey: `${invocationId}.1.0` }),
    );
    expect(again).toMatchObject({
      text: 'Again.',
      calls: [{ tool: 'look_up', response: { status: 'shipped' } }],
    });
  });

  if (isDeep) {
    test('stands beside another one with the same agent, and traces all workers [testing.environment]', async () => {
      const variables = { ...process.env };
      const exporter = new InMemorySpanExporter();
      const other = await createTestEnvironment({
        agents: [desk],
        script: () => text('other'),
        worker: { tracing: { spanProcessors: [new SimpleSpanProcessor(exporter)] } },
      });
      env.gemini.reset(() => text('one'));
      expect([await env.run('hello'), await other.run('hello')].map((turn) => turn.text)).toEqual([
        'one',
        'other',
      ]);
      await other.restartWorker();
      await other.run('hello');
      const turns = exporter.getFinishedSpans().filter(({ name }) => name === 'invoke_agent desk');
      expect(turns).toHaveLength(2);
      await Promise.all([other.close(), other.close()]);
      expect(process.env).toEqual(variables);
      expect((await env.run('hello')).text).toBe('one');
      await expect(other.run('hello')).rejects.toThrow('the test environment is closed');
    });
  }

  if (isDeep) {
    test.skipIf(process.platform === 'win32')(
      'leaves no server and no folder when its program is killed [testing.environment]',
      async () => {
        const temporary = mkdtempSync(join(tmpdir(), 'holdfast-killed-'));
        const program = fileURLToPath(new URL('environment-program.ts', import.meta.url));
        const child = spawn(process.execPath, [program], {
          env: { ...process.env, TMPDIR: temporary },
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        try {
          await once(child.stdout, 'data');
          const name = readdirSync(temporary).find((entry) => entry.startsWith('holdfast-test-')) ?? '';
          const folder = join(realpathSync(temporary), name);
          expect(await findServers(folder)).toHaveLength(1);
          child.kill('SIGKILL');
          await expect.poll(() => existsSync(folder)).toBe(false);
          expect(await findServers(folder)).toEqual([]);
        } finally {
          child.kill('SIGKILL');
          rmSync(temporary, { recursive: true, force: true });
        }
      },
    );
  }

  test('refuses options that it doesn’t have, naming them [testing.environment]', async () => {
    await expect(createTestEnvironment({ agent: desk } as never)).rejects.toThrow(/agent: unknown option/);
    const elsewhere = { agents: [desk], worker: { taskQueue: 'elsewhere' } };
    await expect(createTestEnvironment(elsewhere as never)).rejects.toThrow(
      'worker.taskQueue: the environment',
    );
  });

  test('leaves nothing behind when it can’t start [testing.environment]', async () => {
    const key = process.env.GEMINI_API_KEY;
    await expect(createTestEnvironment({ agents: [] })).rejects.toThrow(/at least one agent/);
    expect(process.env.GEMINI_API_KEY).toBe(key);
  });
});

describe('matchers', () => {
  test('toHaveCalled [testing.environment]', async () => {
    env.gemini.reset([call('look_up', { id: 'A-1' }), text('Shipped.')]);
    const turn = await env.run('Where is A-1?');
    expect(turn).toHaveCalled('look_up');
    expect(turn).toHaveCalled('look_up', { id: expect.stringMatching(/^A/) });
    expect(turn).not.toHaveCalled('look_up', { id: 'B-1' });
    expect(turn).toHaveAnswered(/ship/i);
    const everywhere = /Ship/g;
    for (const _time of [1, 2]) expect(turn).toHaveAnswered(everywhere);
    expect(() => expect(turn).toHaveCalled('look_up', { id: expect.any(Number) })).toThrow(
      /"id": Any<Number>/,
    );
    expect(() => expect(turn).toHaveCalled('refund')).toThrow(
      'expected a call of refund; it made look_up({"id":"A-1"})',
    );
    expect(() => expect(turn).toHaveAnswered('Lost.')).toThrow('it came to the answer "Shipped."');
    expect(() => expect('turn').toHaveCalled('refund')).toThrow('what `await env.run(…)` gives');
  });

  test('toHaveFailed [testing.environment]', async () => {
    env.gemini.reset([error(400, 'no such model')]);
    const turn = await env.run('hello');
    expect(turn).toHaveFailed();
    expect(turn).toHaveFailed(turn.error?.code);
    expect(turn).not.toHaveAnswered('');
    env.gemini.reset([stopped('SAFETY')]);
    expect(await env.run('hello')).not.toHaveFailed('HOLDFAST_NO_SUCH_CODE');
  });
});
