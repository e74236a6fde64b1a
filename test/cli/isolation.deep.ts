import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { expect, onTestFinished, test } from 'vitest';
import { acquireFolder, openTemporal } from '../../worker/index.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';
import { isWritten } from '../setup/written.ts';
import { type Finished, HoldfastProcess, holdfast } from './holdfast-process.ts';

const orders = fileURLToPath(new URL('./agents/orders.ts', import.meta.url));
const stock = fileURLToPath(new URL('./agents/stock.ts', import.meta.url));

const answered = { code: 0, stdout: expect.stringContaining('Order A-1 is shipped.') };

function workFolder(): string {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
  onTestFinished(() => rmSync(work, { recursive: true, force: true }));
  return work;
}

/** A command whose tool waits for its gate. */
async function runningTurn(work: string, name: string, args: string[], env: Record<string, string>) {
  const files = { EFFECTS: join(work, `effects-${name}`), GATE: join(work, `gate-${name}`) };
  const command = ['run', ...args, '--message', 'go', '--session', name, '--message-id', 'm'];
  const process = new HoldfastProcess(command, { cwd: work, env: { ...env, ...files } });
  onTestFinished(() => process.kill('SIGKILL'));
  await expect.poll(() => isWritten(files.EFFECTS) || process.stderr).toBe(true);
  return {
    process,
    effects: () => readFileSync(files.EFFECTS, 'utf8'),
    openGate: () => writeFileSync(files.GATE, ''),
    runAgain: (): Promise<Finished> => holdfast(command, { cwd: work, env: { ...env, ...files } }),
  };
}

async function interruptedTurn(...parameters: Parameters<typeof runningTurn>) {
  const turn = await runningTurn(...parameters);
  turn.process.kill('SIGINT');
  expect(await turn.process.finished()).toMatchObject({ code: 130 });
  turn.openGate();
  return turn;
}

/** The next attempt of the interrupted turn's tool, as the server has it. */
async function nextAttempt(address: string) {
  const connection = await Connection.connect({ interceptors: retriesUntilClosed(), address });
  onTestFinished(() => connection.close());
  const handle = new Client({ connection }).workflow.getHandle('orders/user/interrupted');
  const read = async () => {
    const { raw } = await handle.describe();
    const [call] = raw.pendingActivities ?? [];
    return { attempt: call?.attempt, due: Number(call?.scheduledTime?.seconds ?? 0) * 1000 };
  };
  await expect.poll(async () => (await read()).attempt).toBeGreaterThan(1);
  return read;
}

/** Another command works on after that attempt was due, and leaves it alone. */
async function isLeftAlone(address: string, other: Awaited<ReturnType<typeof runningTurn>>): Promise<void> {
  const read = await nextAttempt(address);
  const { attempt } = await read();
  await expect.poll(async () => (await read()).due + 1_000 < Date.now()).toBe(true);
  other.openGate();
  expect(await other.process.finished()).toMatchObject({ code: 0 });
  expect((await read()).attempt).toBe(attempt);
}

test('an interrupted turn waits for its own agents file [cli.files]', async () => {
  const work = workFolder();
  const folder = join(work, '.holdfast');
  putStore(folder);
  onTestFinished(() => endServer(folder));
  const turn = await interruptedTurn(work, 'interrupted', [orders, '--folder', folder], {});
  const other = await runningTurn(work, 'other', [stock, '--folder', folder], {});
  const { temporal } = JSON.parse(readFileSync(join(folder, 'dev.json'), 'utf8'));
  await isLeftAlone(temporal.address, other);
  expect(turn.effects()).toBe('A-1\n');
  expect(await turn.runAgain()).toMatchObject(answered);
  expect(turn.effects()).toBe('A-1\nA-1\n');
});

test('an interrupted turn waits for its own folder, where two share a server [cli.folders]', async () => {
  const work = workFolder();
  const { folder, release } = acquireFolder(join(work, 'server'));
  const server = await openTemporal({ folder });
  onTestFinished(async () => {
    await endServer(folder);
    release();
  });
  const address = String(server.connectionOptions.address);
  const env = { TEMPORAL_ADDRESS: address };
  for (const name of ['one', 'two']) putStore(join(work, name));
  const turn = await interruptedTurn(work, 'interrupted', [orders, '--folder', join(work, 'one')], env);
  const other = await runningTurn(work, 'other', [orders, '--folder', join(work, 'two')], env);
  await isLeftAlone(address, other);
  const elsewhere = ['--folder', join(work, 'two'), '--session', 'interrupted', '--message-id', 'm'];
  expect(await holdfast(['run', orders, '--message', 'go', ...elsewhere], { cwd: work, env })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/message m is under way on the task queue .*: run it there/),
  });
  expect(turn.effects()).toBe('A-1\n');
  expect(await turn.runAgain()).toMatchObject(answered);
  expect(turn.effects()).toBe('A-1\nA-1\n');
});
