import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../../src/client/index.ts';
import {
  type Content,
  type Event,
  getFunctionCalls,
  isFinalResponse,
  LlmAgent,
  Runner,
  tool,
} from '../../src/index.ts';
import { call, calls, type TestEnvironment, text } from '../../src/testing/index.ts';
import { HoldfastProcess } from '../cli/holdfast-process.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';
import { inTier } from '../setup/tier.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a program’s own tools are called back while it runs, and it ends by itself [job.callback] [runner.ends]', async () => {
  const program = new HoldfastProcess([], {
    program: fileURLToPath(new URL('./job-program.ts', import.meta.url)),
    env: { TMPDIR: folder, TEMP: folder, HOLDFAST_QUIET: '1' },
  });
  const { code, stdout, stderr } = await program.finished();
  expect(stderr).toBe('');
  const lines = stdout.trim().split('\n');
  expect(lines.slice(0, 2)).toEqual(['order', '200']);
  expect(lines[2]).toContain('7');
  expect(lines.slice(3, 5)).toEqual(['order', '{"pages":8}']);
  expect(lines[5]).toContain('8');
  expect(code).toBe(0);
  await expect
    .poll(() => readdirSync(folder).filter((each) => each.startsWith('holdfast-runner-')))
    .toEqual([]);
});

describe.each(inTier(['HoldfastClient'], ['HoldfastClient', 'GatewayClient']))(
  'a runner with a %s',
  (kind) => {
    const order = tool({
      name: 'order',
      description: 'Orders.',
      isLongRunning: true,
      execute: () => undefined,
    });
    const decided = tool({
      name: 'decided',
      description: 'Finds out while it runs that it takes longer.',
      execute: (_args, context) => {
        context.longRunning = true;
      },
    });
    const ticket = tool({
      name: 'ticket',
      description: 'Gives a ticket.',
      isLongRunning: true,
      execute: () => ({ ticket: 7 }),
    });
    const agent = new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [order, decided, ticket] });
    let env: TestEnvironment;
    let runner: Runner;

    beforeAll(async () => {
      env = await openPlacedEnvironment({
        agents: [agent],
        script: ({ contents }) => {
          const last = contents?.at(-1)?.parts ?? [];
          if (last.some(({ functionResponse }) => functionResponse)) return text('done');
          const said = last.at(-1)?.text ?? '';
          if (said === 'two') return calls([{ name: 'order' }, { name: 'order' }]);
          return ['order', 'decided', 'ticket'].includes(said) ? call(said) : text('hello');
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
    const respond = (events: readonly Event[], response: object, willContinue?: true): Content => ({
      role: 'user',
      parts: events
        .flatMap((event) => getFunctionCalls(event))
        .map(({ id, name }) => ({
          functionResponse: {
            id,
            name,
            response: { ...response },
            ...(willContinue ? { willContinue } : {}),
          },
        })),
    });

    test.each(['order', 'decided'])(
      'the events end behind a call of %s, whose response goes on with the same invocation [job.message] [job.park]',
      async (said) => {
        const { run, names } = await open();
        const first = await run(said);
        expect(kinds(first)).toEqual(['functionCall']);
        if (said === 'order') expect(isFinalResponse(first.at(-1) as Event)).toBe(true);
        expect(await env.client.status(names)).toMatchObject({ status: 'waiting_job' });
        expect(await run(respond(first, { state: 'at work' }, true))).toEqual([]);
        const second = await run(respond(first, { pages: 7 }));
        expect(kinds(second)).toEqual(['functionResponse', 'text']);
        expect(second[0]?.content?.parts?.[0]?.functionResponse?.response).toEqual({ pages: 7 });
        expect(new Set([...first, ...second].map(({ invocationId }) => invocationId)).size).toBe(1);
        expect(await env.client.status(names)).toBeUndefined();
      },
    );

    test('of two calls one is answered after the other [job.message] [job.sequence]', async () => {
      const { run } = await open();
      const asked = respond(await run('two'), { pages: 7 });
      const [one, two] = asked.parts ?? [];
      expect(await run({ role: 'user', parts: [two ?? {}] })).toEqual([]);
      const events = await run({ role: 'user', parts: [one ?? {}] });
      expect(kinds(events)).toEqual(['functionResponse,functionResponse', 'text']);
    });

    test('of words behind a turn that waits for a job an event says that they are queued; their answer follows [job.park] [runner.queued]', async () => {
      const { run } = await open();
      const first = await run('order');
      const told: Event[] = [];
      const hello = run('hello', told);
      await expect.poll(() => told.length).toBe(1);
      expect(told[0]?.customMetadata).toMatchObject({ holdfast: { type: 'queued', status: 'waiting_job' } });
      expect(kinds(await run(respond(first, { pages: 7 })))).toEqual(['functionResponse', 'text']);
      expect((await hello).map(({ content }) => content?.parts?.[0]?.text)).toEqual([
        'This message is queued: the turn before it waits for a job.',
        'hello',
      ]);
    });

    test('the events of a job that a callback ends meanwhile are in the session [job.callback]', async () => {
      const { run, names } = await open();
      await run('order');
      const [job] = await env.client.jobs.list(names);
      await env.client.jobs.complete(job?.jobId ?? '', { result: 7 });
      await expect.poll(() => env.client.status(names)).toBeUndefined();
      const events = (await env.client.sessions.get(names))?.events ?? [];
      expect(kinds(events.map(({ event }) => event))).toEqual([
        'text',
        'functionCall',
        'functionResponse',
        'text',
      ]);
    });

    test('of a tool that returns a value they go on, and a late response begins a run [job.message] [job.detach]', async () => {
      const { run } = await open();
      const first = await run('ticket');
      expect(kinds(first)).toEqual(['functionCall', 'functionResponse', 'text']);
      const late = await run(respond(first.slice(0, 1), { done: true }));
      expect(kinds(late)).toEqual(['text']);
      expect(late[0]?.invocationId).not.toBe(first[0]?.invocationId);
    });
  },
);
