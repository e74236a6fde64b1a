import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import { findLocalGateway } from '../../worker/local-gateway.ts';
import { isWritten } from '../setup/written.ts';
import { isAlive } from './alive.ts';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';
import { UserProject } from './user-project.ts';

const AGENTS = `
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { LlmAgent, tool } from 'holdfast';
import { calls, text } from 'holdfast/testing';
import { z } from 'zod';
import { VERSION } from './version.ts';

const slow = tool({
  name: 'slow',
  description: 'Takes until its gate opens.',
  parameters: z.object({}),
  execute: async () => {
    appendFileSync(process.env.EFFECTS, VERSION);
    while (!existsSync(process.env.GATE)) await setTimeout(20);
    return { ranOn: VERSION };
  },
});

export const rootAgent = new LlmAgent({ name: 'teller', model: 'gemini-2.5-flash', tools: [slow] });

export const geminiScript = (_request, { functionResponses, userText }) => {
  if (userText !== 'slow') return text(VERSION);
  const [first] = functionResponses;
  return first === undefined ? calls([{ name: 'slow', args: {} }]) : text(VERSION + ' after ' + first.response.ranOn);
};
`;

interface Told {
  type: string;
  workerPid?: number;
  message?: string;
  gateway?: { url: string; token: string };
}

describe('holdfast dev, while its agents file changes', () => {
  const project = new UserProject();
  const agents = project.write('agents.ts', AGENTS);
  const files = { EFFECTS: join(project.path, 'effects'), GATE: join(project.path, 'gate') };
  let dev: HoldfastProcess;
  let client: GatewayClient;

  const save = (version: string) =>
    project.write('version.ts', `export const VERSION: string = '${version}';\n`);
  const told = (type: string): Told[] =>
    dev.stdout
      .split('\n')
      .slice(0, -1)
      .map((line): Told => JSON.parse(line))
      .filter((line) => line.type === type);
  const tells = (type: string, times: number) => expect.poll(() => told(type).length).toBe(times);
  const names = (sessionId: string) => ({ app: 'agents', userId: 'user', sessionId });
  const ask = async (sessionId: string, message: string) => {
    const turn = await client.sendMessage({ ...names(sessionId), message });
    return await turn.result();
  };
  const answer = async (): Promise<unknown> => (await ask('one', 'who answers?')).text;

  const start = async () => {
    dev = new HoldfastProcess(['dev', agents, '--json', '--no-chat'], { cwd: project.path, env: files });
    await dev.prints(/"type":"ready"/);
  };

  beforeAll(async () => {
    save('v1');
    await start();
    client = new GatewayClient(told('ready')[0]?.gateway ?? { url: '', token: '' });
  });

  afterAll(async () => {
    if (!dev.isOver) dev.kill('SIGTERM');
    await dev.finished();
    await project.remove();
  });

  test('turns go on, each answered once and the newest code answers; the old worker ends its slow tool first [cli.dev]', async () => {
    const slow = client.sendMessage({ ...names('slow'), message: 'slow' });
    await expect.poll(() => isWritten(files.EFFECTS)).toBe(true);

    let isOver = false;
    const answers: unknown[] = [];
    const load = ['a', 'b'].map(async (sessionId) => {
      let asked = 0;
      for (; !isOver; asked += 1) {
        const { status, text } = await ask(`${sessionId}-${asked}`, 'who answers?');
        answers.push(status === 'completed' ? text : status);
      }
      return asked;
    });
    for (const [index, version] of ['v2', 'v3'].entries()) {
      save(version);
      await tells('reloaded', index + 1);
    }
    await expect.poll(answer).toBe('v3');
    isOver = true;
    const asked = await Promise.all(load);
    expect(answers).toHaveLength(asked.reduce((sum, count) => sum + count, 0));
    expect(answers.every((text) => /^v[1-3]$/.test(String(text)))).toBe(true);

    // The first worker alone still has something to do.
    await tells('drained', 1);
    const first = told('ready')[0]?.workerPid ?? 0;
    expect(told('drained').map(({ workerPid }) => workerPid)).not.toContain(first);
    writeFileSync(files.GATE, '');
    const { status, text } = await (await slow).result();
    expect({ status, text }).toEqual({ status: 'completed', text: 'v3 after v1' });
    expect(readFileSync(files.EFFECTS, 'utf8')).toBe('v1');
    await tells('drained', 2);
    expect(told('drained').at(-1)?.workerPid).toBe(first);
    expect(isAlive(first)).toBe(false);
  });

  test('a file that can’t be loaded is shown, and the worker before goes on [cli.dev]', async () => {
    project.write('version.ts', 'export const VERSION = ;\n');
    await tells('load-failed', 1);
    expect(told('load-failed')[0]?.message).toMatch(/agents\.ts can't be loaded/);
    expect(await answer()).toBe('v3');
    project.write('version.ts', "import './missing.ts';\nexport const VERSION = 'v5';\n");
    await tells('load-failed', 2);
    expect(told('load-failed')[1]?.message).toMatch(/missing\.ts/);
    // A file that it looked for is one that it waits for.
    project.write('missing.ts', '');
    await expect.poll(answer).toBe('v5');
  });

  test('many saves at once: the newest wins, and no workers pile up [cli.dev]', async () => {
    const before = told('reloaded').length;
    for (let index = 0; index < 20; index += 1) {
      save(`fast-${index}`);
      await new Promise((written) => setImmediate(written));
    }
    await expect.poll(answer).toBe('fast-19');
    const workers = [...told('ready'), ...told('reloaded')].map(({ workerPid }) => workerPid ?? 0);
    await expect.poll(() => workers.filter(isAlive)).toEqual([workers.at(-1)]);
    expect(told('reloaded').length - before).toBeLessThan(10);
  });

  test('holdfast run goes through it; another file’s, another dev and stop are refused [cli.dev]', async () => {
    const run = (file: string, message: string) =>
      holdfast(['run', file, '--message', message], { cwd: project.path, env: files });
    const [second, own, foreign, stop] = await Promise.all([
      holdfast(['dev', agents], { cwd: project.path }),
      run(agents, 'who answers?'),
      run(project.write('others.ts', AGENTS), 'who answers?'),
      holdfast(['stop'], { cwd: project.path }),
    ]);
    expect(second).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`in use by process ${dev.pid}, which serves its gateway at http`),
      ),
    });
    expect(own).toMatchObject({ code: 0, stdout: 'you  who answers?\nteller  fast-19\n' });
    expect(own.stderr).toContain(`process ${dev.pid} owns the folder`);
    expect(foreign).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(`in use by process ${dev.pid}, which serves another agents file.*--folder`),
      ),
    });
    expect(stop).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`in use by process ${dev.pid} since .*kill ${dev.pid}`)),
    });
  });

  test('a worker that dies is replaced, and its turn goes on [cli.dev]', async () => {
    const worker = told('reloaded').at(-1)?.workerPid ?? 0;
    const before = told('reloaded').length;
    process.kill(worker, 'SIGKILL');
    await tells('worker-ended', 1);
    expect(await answer()).toBe('fast-19');
    expect(told('reloaded')).toHaveLength(before + 1);
  });

  test('SIGTERM ends it, and no worker is left [cli.dev]', async () => {
    dev.kill('SIGTERM');
    expect(await dev.finished()).toMatchObject({ code: 0 });
    const workers = [...told('ready'), ...told('reloaded')].map(({ workerPid }) => workerPid ?? 0);
    expect(workers.length).toBeGreaterThan(3);
    expect(workers.filter(isAlive)).toEqual([]);
    expect(JSON.parse(readFileSync(join(project.folder, 'dev.json'), 'utf8'))).not.toHaveProperty('gateway');
  });

  test('killed, it leaves no worker behind, and nobody takes its gateway for one that answers [cli.dev]', async () => {
    await start();
    const { workerPid = 0 } = told('ready')[0] ?? {};
    dev.kill('SIGKILL');
    await dev.finished();
    await expect.poll(() => isAlive(workerPid)).toBe(false);
    expect(await findLocalGateway(project.folder)).toBe(undefined);
  });
});
