import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { GatewayClient } from '../../src/client/index.ts';
import {
  type Content,
  type Event,
  getFunctionCalls,
  isFinalResponse,
  LlmAgent,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
  Runner,
  tool,
} from '../../src/index.ts';
import { call, calls, type TestEnvironment, text } from '../../src/testing/index.ts';
import { HoldfastProcess } from '../cli/holdfast-process.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';
import { inTier, isDeep } from '../setup/tier.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

if (isDeep) {
  test('a turn that waits keeps no program up, and goes on with the answer; one that has words behind it does until they are answered [runner.ends] [runner.queued]', async () => {
    const program = new HoldfastProcess([], {
      program: fileURLToPath(new URL('./waiting-program.ts', import.meta.url)),
      env: { TMPDIR: folder, TEMP: folder, HOLDFAST_QUIET: '1' },
    });
    const { code, stdout, stderr } = await program.finished();
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toEqual([
      'pay',
      'adk_request_confirmation',
      'suspended',
      '{"paid":5}',
      'Paid.',
      'This message is queued: the turn before it waits for a person.',
      '{"paid":8}',
      'Paid, too.',
      'Hello.',
      'pay',
      'adk_request_confirmation',
      'pay and leaves',
    ]);
    expect(code).toBe(0);
    await expect
      .poll(() => readdirSync(folder).filter((each) => each.startsWith('holdfast-runner-')))
      .toEqual([]);
  });
}

describe.each(inTier(['HoldfastClient'], ['HoldfastClient', 'GatewayClient']))(
  'a runner with a %s',
  (kind) => {
    let release = Promise.withResolvers<void>();
    afterEach(() => {
      release = Promise.withResolvers<void>();
    });
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ amount: z.number() }),
      requireConfirmation: true,
      execute: ({ amount }) => ({ paid: amount }),
    });
    const slow = tool({
      name: 'slow',
      description: 'Takes its time.',
      execute: async () => {
        await release.promise;
        return { done: true };
      },
    });
    const size = tool({
      name: 'size',
      description: 'Asks for a size, and whether it is sure.',
      execute: async (_args, context) => ({ size: await context.requestInput({ message: 'Which size?' }) }),
    });
    const agent = new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [pay, slow, size] });
    let env: TestEnvironment;
    let runner: Runner;

    beforeAll(async () => {
      env = await openPlacedEnvironment({
        agents: [agent],
        script: ({ contents }) => {
          const last = contents?.at(-1)?.parts ?? [];
          if (last.some(({ functionResponse }) => functionResponse)) return text('done');
          const said = last.at(-1)?.text ?? '';
          if (said === 'hello') return text('hi');
          if (said === 'pay two') return calls([1, 2].map((amount) => ({ name: 'pay', args: { amount } })));
          if (said === 'pay beside') return calls([{ name: 'slow' }, { name: 'pay', args: { amount: 3 } }]);
          return said === 'size' ? call('size') : call('pay', { amount: 5 });
        },
      });
      const client = kind === 'HoldfastClient' ? env.client : new GatewayClient(env.gateway);
      runner = new Runner({ appName: 'test', agent, client });
    });
    afterAll(() => env.close());

    async function open() {
      const { id: sessionId } = await runner.sessionService.createSession({ appName: 'test', userId: 'ada' });
      const run = async (message: string | Content, events: Event[] = []): Promise<Event[]> => {
        const newMessage =
          typeof message === 'string' ? { role: 'user', parts: [{ text: message }] } : message;
        for await (const event of runner.runAsync({ userId: 'ada', sessionId, newMessage }))
          events.push(event);
        return events;
      };
      return { names: { app: 'test', userId: 'ada', sessionId }, run };
    }

    const kinds = (events: readonly Event[]) =>
      events.map((event) => event.content?.parts?.map((part) => Object.keys(part)[0]).join());
    const requestsOf = (events: readonly Event[]) =>
      events
        .flatMap((event) => getFunctionCalls(event))
        .filter(({ name }) => name?.startsWith('adk_request_'))
        .map(({ id = '' }) => id);
    const reply = (
      id: string,
      response: Record<string, unknown>,
      name = REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
    ) => ({ role: 'user', parts: [{ functionResponse: { id, name, response } }] }) satisfies Content;

    test('the events end behind the request, and the answer goes on with the same invocation [confirm.events]', async () => {
      const { run, names } = await open();
      const first = await run('pay');
      expect(kinds(first)).toEqual(['functionCall', 'functionCall']);
      expect(isFinalResponse(first.at(-1) as Event)).toBe(true);
      const [id = ''] = requestsOf(first);
      const second = await run(reply(id, { confirmed: true }));
      expect(kinds(second)).toEqual(['functionResponse', 'text']);
      expect(new Set([...first, ...second].map(({ invocationId }) => invocationId)).size).toBe(1);
      expect(await env.client.status(names)).toBeUndefined();
    });

    test('of several requests one is answered after the other [confirm.many]', async () => {
      const { run } = await open();
      const [one = '', two = ''] = requestsOf(await run('pay two'));
      expect(await run(reply(two, { confirmed: false }))).toEqual([]);
      const events = await run(reply(one, { confirmed: true }));
      expect(events[0]?.content?.parts?.map((part) => part.functionResponse?.response)).toEqual([
        { paid: 1 },
        { error: 'This tool call is rejected.' },
      ]);
    });

    test('of words behind a turn that waits an event says that they are queued; their answer follows once it has ended [runner.queued]', async () => {
      const { run, names } = await open();
      const waiting = await run('pay');
      const [first = ''] = requestsOf(waiting);
      const told: Event[] = [];
      const hello = run('hello', told);
      await expect.poll(() => told.length).toBe(1);
      expect(told[0]).toMatchObject({
        author: 'desk',
        partial: true,
        content: {
          role: 'model',
          parts: [{ text: 'This message is queued: the turn before it waits for a person.' }],
        },
        customMetadata: {
          holdfast: { type: 'queued', behind: waiting[0]?.invocationId, status: 'waiting_approval' },
        },
      });
      expect(isFinalResponse(told[0] as Event)).toBe(false);
      expect(kinds(await run(reply(first, { confirmed: true })))).toEqual(['functionResponse', 'text']);
      const [queued, answer, ...more] = await hello;
      expect(more).toEqual([]);
      expect(answer?.content?.parts).toEqual([{ text: 'hi' }]);
      expect(answer?.invocationId).toBe(queued?.invocationId);
      const stored = await env.client.sessions.get(names);
      expect(stored?.events.some(({ event }) => event.partial)).toBe(false);
    });

    if (isDeep) {
      test('a queued message whose own turn waits for people ends its events there [runner.queued]', async () => {
        const { run } = await open();
        const [first = ''] = requestsOf(await run('pay'));
        const told: Event[] = [];
        const size = run('size', told);
        await expect.poll(() => told.length).toBe(1);
        await run(reply(first, { confirmed: true }));
        const [second = ''] = requestsOf(await size);
        const events = await run(reply(second, { result: 'L' }, REQUEST_INPUT_FUNCTION_CALL_NAME));
        expect(kinds(events)).toEqual(['functionResponse', 'text']);
      });
    }

    test('who leaves at the event that says so leaves the message queued [runner.queued]', async () => {
      const { run, names } = await open();
      const [first = ''] = requestsOf(await run('pay'));
      const newMessage = { role: 'user', parts: [{ text: 'hello' }] };
      for await (const event of runner.runAsync({ userId: 'ada', sessionId: names.sessionId, newMessage })) {
        expect(event.customMetadata).toMatchObject({ holdfast: { type: 'queued' } });
        break;
      }
      await run(reply(first, { confirmed: true }));
      await expect
        .poll(async () => (await env.client.sessions.get(names))?.events.at(-1)?.event.content?.parts)
        .toEqual([{ text: 'hi' }]);
    });

    test('what runs beside it is waited for before the events end [confirm.siblings]', async () => {
      const { run, names } = await open();
      let hasEnded = false;
      const running = run('pay beside').finally(() => {
        hasEnded = true;
      });
      await expect.poll(async () => (await env.client.status(names))?.waiting.length).toBe(1);
      expect(await env.client.status(names)).toMatchObject({ status: 'running' });
      expect(hasEnded).toBe(false);
      release.resolve();
      const [id = ''] = requestsOf(await running);
      expect(kinds(await run(reply(id, { confirmed: true })))).toEqual([
        'functionResponse,functionResponse',
        'text',
      ]);
    });

    test('a question from inside a tool ends the events, too [input.request]', async () => {
      const { run } = await open();
      const [id = ''] = requestsOf(await run('size'));
      const events = await run(reply(id, { result: 'L' }, REQUEST_INPUT_FUNCTION_CALL_NAME));
      expect(events[0]?.content?.parts?.[0]?.functionResponse?.response).toEqual({ size: 'L' });
    });
  },
);
