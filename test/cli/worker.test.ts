import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import { findLocalGateway } from '../../worker/local-gateway.ts';
import { freePort } from '../setup/free-port.ts';
import { isDeep } from '../setup/tier.ts';
import { isWritten } from '../setup/written.ts';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';
import { UserProject } from './user-project.ts';

const AGENTS = `
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { LlmAgent, tool } from 'holdfast';
import { calls, text } from 'holdfast/testing';
import { z } from 'zod';

const look = tool({
  name: 'look',
  description: 'Looks until its gate opens.',
  parameters: z.object({}),
  execute: async () => {
    appendFileSync(process.env.EFFECTS, 'looked ');
    while (!existsSync(process.env.GATE)) await setTimeout(20);
    return { seen: 'a heron' };
  },
});

export const rootAgent = new LlmAgent({ name: 'watcher', model: 'gemini-2.5-flash', tools: [look] });

export const geminiScript = (_request, { functionResponses }) => {
  const [first] = functionResponses;
  return first === undefined ? calls([{ name: 'look', args: {} }]) : text('I see ' + first.response.seen + '.');
};
`;

interface Line {
  level: string;
  message: string;
  [attribute: string]: unknown;
}

describe('holdfast worker', () => {
  const project = new UserProject();
  const agents = project.write('agents.ts', AGENTS);
  const names = { app: 'agents', userId: 'user', sessionId: 's1' };
  const started: HoldfastProcess[] = [];
  let health: number;

  const filesOf = (name: string) => ({
    EFFECTS: join(project.path, `effects-${name}`),
    GATE: join(project.path, `gate-${name}`),
  });
  const start = (args: readonly string[], env: Record<string, string>) => {
    const worker = new HoldfastProcess(['worker', agents, ...args], { cwd: project.path, env });
    started.push(worker);
    return worker;
  };
  const linesOf = (worker: HoldfastProcess): Line[] =>
    worker.stderr
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const answer = async (path: string) => {
    try {
      return (await fetch(`http://127.0.0.1:${health}${path}`)).status;
    } catch {
      return undefined;
    }
  };
  // On a busy machine the gateway is slow to answer, and then it is not found.
  const client = async () =>
    new GatewayClient(await vi.waitUntil(() => findLocalGateway(project.folder), { timeout: 120_000 }));

  beforeAll(async () => {
    health = await freePort();
  });

  afterAll(async () => {
    for (const worker of started.filter((each) => !each.isOver)) {
      worker.kill('SIGKILL');
      await worker.finished();
    }
    await project.remove();
  });

  test('it says as JSON where it polls, answers probes, and lets a tool end after SIGTERM [cli.worker]', async () => {
    const files = filesOf('graceful');
    // The option goes before the variable, and the variable before the default.
    const worker = start(['--health', String(health), '--shutdown-grace', '60s'], {
      ...files,
      HOLDFAST_HEALTH_PORT: '1',
      HOLDFAST_TASK_QUEUE: 'birds',
      HOLDFAST_MOCK_MODEL: 'true',
    });
    await worker.prints(/"message":"worker polls"/);
    expect(await answer('/v1/health')).toBe(200);
    await expect.poll(() => answer('/v1/ready')).toBe(200);
    expect(await answer('/v1/sessions')).toBe(404);
    expect(linesOf(worker)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ message: 'worker starting', holdfast: expect.stringMatching(/^\d+\.\d+/) }),
        expect.objectContaining({ message: 'worker ready', agents: ['watcher'], taskQueue: 'birds' }),
        expect.objectContaining({ message: 'worker polls', namespace: 'default', taskQueue: 'birds' }),
      ]),
    );
    const turn = await (await client()).sendMessage({ ...names, message: 'what is there?' });
    await expect.poll(() => isWritten(files.EFFECTS)).toBe(true);
    worker.kill('SIGTERM');
    await expect.poll(() => answer('/v1/ready')).toBe(503);
    expect(await answer('/v1/health')).toBe(200);
    writeFileSync(files.GATE, '');
    expect(await worker.finished()).toMatchObject({ code: 0, stdout: '' });
    expect(linesOf(worker).at(-1)).toMatchObject({ message: 'worker drained' });

    // The next worker goes on behind the tool.
    const next = start(['--task-queue', 'birds', '--mock-model'], files);
    await next.prints(/"message":"worker polls"/);
    const found = await (await client()).turn({ ...names, messageId: turn.messageId });
    expect(await found?.result()).toMatchObject({ status: 'completed', text: 'I see a heron.' });
    expect(readFileSync(files.EFFECTS, 'utf8')).toBe('looked ');
    next.kill('SIGTERM');
    expect(await next.finished()).toMatchObject({ code: 0 });
  });

  if (isDeep) {
    test('a second signal ends it at once, and another worker goes on [cli.worker]', async () => {
      const files = filesOf('hasty');
      const worker = start(['--shutdown-grace', '1h', '--log', 'text', '--mock-model'], files);
      await worker.prints(/info {2}worker polls address=127\.0\.0\.1:\d+ namespace=default/);
      const turn = await (await client()).sendMessage({ ...names, message: 'what is there?' });
      await expect.poll(() => isWritten(files.EFFECTS)).toBe(true);
      worker.kill('SIGINT');
      await worker.prints(/worker shutdown begun/);
      worker.kill('SIGINT');
      expect(await worker.finished()).toMatchObject({ code: 130 });
      writeFileSync(files.GATE, '');
      const args = ['--session', names.sessionId, '--message-id', turn.messageId, '--message', '-'];
      expect(await holdfast(['run', agents, ...args], { cwd: project.path, env: files })).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('I see a heron.'),
      });
      expect(readFileSync(files.EFFECTS, 'utf8')).toBe('looked looked ');
    });
  }

  if (isDeep) {
    test('it waits for a store that isn’t up, and gives up with the reason [cli.worker]', async () => {
      const env = { HOLDFAST_STORE: 'postgres://ada:secret-word@127.0.0.1:9/shop' };
      const [waiting, never] = await Promise.all([
        holdfast(['worker', agents, '--wait', '1s'], { cwd: project.path, env }),
        holdfast(['worker', agents], { cwd: project.path, env: { ...env, HOLDFAST_WAIT: 'long' } }),
      ]);
      expect(waiting.code).toBe(1);
      expect(waiting.stderr).toMatch(/"message":"waiting, 1 s at most: .*127\.0\.0\.1/);
      expect(waiting.stderr).toMatch(/"message":"worker ended","reason":".*HOLDFAST_STORE_UNAVAILABLE/);
      expect(waiting.stderr).not.toContain('secret-word');
      expect(never).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/'long' from env 'HOLDFAST_WAIT' is invalid/),
      });
    });
  }

  test('without a key for Gemini it says so, and nobody answers in its place [cli.worker]', async () => {
    const worker = start(['--health', String(health)], filesOf('keyless'));
    await worker.prints(/no variable has a key for Gemini.*--mock-model/);
    worker.kill('SIGTERM');
    expect(await worker.finished()).toMatchObject({ code: 0 });
  });
});

test('holdfast gateway serves what is elsewhere only, to this machine only [cli.worker]', async () => {
  const elsewhere = {
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    HOLDFAST_STORE: 'postgres://ada:secret-word@127.0.0.1:9/shop',
    HOLDFAST_WAIT: '1s',
  };
  const [embedded, short, away] = await Promise.all([
    holdfast(['gateway']),
    holdfast(['gateway'], { env: { ...elsewhere, HOLDFAST_GATEWAY_TOKEN: 'short' } }),
    holdfast(['gateway'], { env: elsewhere }),
  ]);
  expect(embedded).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/set TEMPORAL_ADDRESS and HOLDFAST_STORE/),
  });
  expect(short).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/HOLDFAST_GATEWAY_TOKEN: .*24 characters/),
  });
  expect(short.stderr).not.toContain('short,');
  expect(away).toMatchObject({ code: 1, stdout: '' });
  expect(away.stderr).toMatch(/waiting, 1 s at most: .*HOLDFAST_STORE_UNAVAILABLE/s);
  expect(away.stderr).not.toContain('secret-word');
});
