import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../setup/free-port.ts';
import { emptyDatabase } from '../setup/own-database.ts';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';
import { UserProject } from './user-project.ts';

const AGENTS = `
import { LlmAgent } from 'holdfast';
import { defineGateway } from 'holdfast/gateway';

export const gateway = defineGateway({ publicUrl: 'https://agents.example.com' });
export const rootAgent = new LlmAgent({ name: 'responder', model: 'gemini-2.5-flash' });
`;

/** The status that a request gets which means this host. */
function statusOf(
  url: string,
  host: string,
  key?: string,
  path = '/v1/apps/agents/sessions',
): Promise<number | undefined> {
  const headers = { host, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  return new Promise((resolve, reject) => {
    request(`${url}${path}`, { headers, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

describe('the export gateway of a file [auth.config]', () => {
  const project = new UserProject();
  const agents = project.write('agents.ts', AGENTS);
  const running: HoldfastProcess[] = [];

  const start = (args: string[], env: Record<string, string> = {}) => {
    const process = new HoldfastProcess(args, { cwd: project.path, env });
    running.push(process);
    return process;
  };
  const devFile = () => JSON.parse(readFileSync(join(project.folder, 'dev.json'), 'utf8'));
  const newKey = async (env: Record<string, string> = {}) => {
    const args = ['keys', 'create', 'mira', '--app', 'agents', '--role', 'read'];
    const made = await holdfast(args, { cwd: project.path, env });
    expect(made.code).toBe(0);
    return made.stdout.trim();
  };

  afterEach(async () => {
    for (const process of running.splice(0)) {
      process.kill('SIGTERM');
      await process.finished();
    }
  });
  afterAll(async () => {
    await project.remove();
  });

  test('configures that of holdfast dev, and is taken up when the file changes', async () => {
    const dev = start(['dev', agents, '--json', '--no-chat']);
    await dev.prints(/"type":"ready"/);
    const { url, token } = devFile().gateway;
    const key = await newKey();
    expect(await statusOf(url, 'agents.example.com', key)).toBe(200);
    expect(await statusOf(url, new URL(url).host, token)).toBe(200);
    // The machine's own token is for the machine's own names.
    expect(await statusOf(url, 'agents.example.com', token)).toBe(401);
    expect(await statusOf(url, 'agents.example.com')).toBe(401);
    expect(await statusOf(url, 'desk.example.com', key)).toBe(403);
    project.write('agents.ts', AGENTS.replace('agents.example.com', 'desk.example.com'));
    await expect.poll(() => statusOf(url, 'desk.example.com', key)).toBe(200);
    expect(await statusOf(url, 'agents.example.com', key)).toBe(403);
    project.write('agents.ts', AGENTS);
    await expect.poll(() => statusOf(url, 'agents.example.com', key)).toBe(200);
  });

  test('configures that of holdfast worker', async () => {
    const worker = start(['worker', agents, '--mock-model', '--log', 'json']);
    await worker.prints(/"message":"worker polls"/);
    const { url } = devFile().gateway;
    const key = await newKey();
    expect(await statusOf(url, 'agents.example.com', key)).toBe(200);
    expect(await statusOf(url, 'desk.example.com', key)).toBe(403);
  });

  test('lets holdfast gateway listen where other machines reach it, and nothing else does', async () => {
    const { url: store } = await emptyDatabase();
    const port = await freePort();
    const { address } = devFile().temporal;
    const env = { HOLDFAST_STORE: store, TEMPORAL_ADDRESS: address };
    const everywhere = ['gateway', '--host', '0.0.0.0', '--port', String(port)];
    const refused = await holdfast(everywhere, { cwd: project.path, env });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('HOLDFAST_PUBLIC_URL or `publicUrl` of defineGateway');
    const gateway = start([...everywhere, '--config', 'agents.ts', '--json'], env);
    await gateway.prints(/"url":/);
    // Nobody needs a token that is made where everybody has a key.
    expect(gateway.stdout).not.toContain('token');
    const key = await newKey(env);
    const url = `http://127.0.0.1:${port}`;
    expect(await statusOf(url, 'agents.example.com', key)).toBe(200);
    expect(await statusOf(url, 'agents.example.com')).toBe(401);
    expect(await statusOf(url, 'desk.example.com', key)).toBe(403);
    expect(await statusOf(url, '10.0.0.7:8080', undefined, '/v1/ready')).toBe(200);
  });

  test.each([
    ['no file', 'none.ts', 'none.ts: no such file'],
    ['no export', 'plain.ts', 'plain.ts has no export gateway'],
    ['another value', 'odd.ts', 'odd.ts: the export gateway is no configuration of one, but object'],
    ['a wrong one', 'wrong.ts', 'defineGateway: publicURL: unknown option; did you mean "publicUrl"'],
  ])('is told where it is %s', async (_what, file, message) => {
    project.write('plain.ts', 'export const a = 1;');
    project.write('odd.ts', 'export const gateway = { publicUrl: "https://agents.example.com" };');
    project.write('wrong.ts', AGENTS.replace('publicUrl', 'publicURL'));
    const { code, stderr } = await holdfast(['gateway', '--config', file], { cwd: project.path });
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});
