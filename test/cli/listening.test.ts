import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { CliError } from '../../src/cli/cli-error.ts';
import { listening } from '../../src/cli/listening.ts';
import { serveHealth } from '../../src/cli/worker/health-server.ts';
import { isDeep } from '../setup/tier.ts';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';
import { UserProject } from './user-project.ts';

async function takenPort(): Promise<number> {
  const server = createServer();
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test('a port that is taken is a sentence with the next step [cli.port]', async () => {
  const port = await takenPort();
  const failed = listening(
    '--health',
    serveHealth(port, async () => true),
  );
  await expect(failed).rejects.toThrow(CliError);
  await expect(failed).rejects.toThrow(
    `port ${port} of 0.0.0.0 is in use: end the program that listens there, or name another port with --health`,
  );
});

test('of holdfast dev, too [cli.port]', async () => {
  const project = new UserProject();
  onTestFinished(() => project.remove());
  const agents = project.write(
    'agents.ts',
    "import { LlmAgent } from 'holdfast'; export const rootAgent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash' });",
  );
  const port = await takenPort();
  const { code, stderr } = await holdfast(['dev', agents, '--port', String(port)], { cwd: project.path });
  expect(code).toBe(1);
  expect(stderr).toContain(`port ${port} of 127.0.0.1 is in use`);
});

if (isDeep) {
  test('of a worker, before anything is started [cli.port]', async () => {
    const agents = fileURLToPath(new URL('./agents/orders.ts', import.meta.url));
    for (const option of ['--health', '--metrics']) {
      const port = await takenPort();
      const worker = new HoldfastProcess(['worker', agents, option, String(port)]);
      const { code, stderr } = await worker.finished();
      expect(code).toBe(1);
      expect(stderr).toContain(`port ${port}`);
      expect(stderr).toContain(`name another port with ${option}`);
      expect(stderr).not.toMatch(/^ +at /m);
    }
  });
}

test('what else goes wrong stays what it is [cli.port]', async () => {
  const error = new Error('no');
  await expect(listening('--port', Promise.reject(error))).rejects.toBe(error);
});
