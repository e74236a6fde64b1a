import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { SEARCH_ATTRIBUTES } from '../../src/protocol/names.ts';
import { openTemporal, type TemporalTarget } from '../../worker/temporal/connect.ts';
import { stopEmbedded } from '../../worker/temporal/embedded.ts';
import { TemporalStartFailed } from '../../worker/temporal/errors.ts';
import { answers } from '../../worker/temporal/probe.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { findServers } from '../../worker/temporal/server-process.ts';
import { workflowUrl } from '../../worker/temporal/ui-link.ts';
import { isDeep } from '../setup/tier.ts';
import { holdfastFolder, OBTAIN_TIMEOUT, startProgram, temporalExecutable } from './temporal-fixture.ts';

const WORKFLOW_ID = 'shop/ada%20x/s 1';
const ENTRY_FIELDS = ['address', 'executable', 'pid', 'startedAt', 'uiUrl', 'version'];

let executable: string;

beforeAll(async () => {
  executable = (await temporalExecutable()).path;
}, OBTAIN_TIMEOUT);

function open(
  folder: string,
  signal?: AbortSignal,
  onProgress?: (line: string) => void,
): Promise<TemporalTarget> {
  return openTemporal({
    folder,
    executable,
    env: { PATH: process.env.PATH },
    ...(signal ? { signal } : {}),
    ...(onProgress ? { onProgress } : {}),
  });
}

function devFile(folder: string): Record<string, Record<string, unknown> | undefined> {
  return JSON.parse(readFileSync(join(folder, 'dev.json'), 'utf8'));
}

async function withClient<T>(target: TemporalTarget, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({
    ...target.connectionOptions,
    interceptors: retriesUntilClosed(),
  });
  try {
    return await use(new Client({ connection, namespace: target.namespace }));
  } finally {
    await connection.close();
  }
}

async function killServer(folder: string): Promise<void> {
  for (const pid of (await findServers(folder)) ?? []) process.kill(pid, 'SIGKILL');
  await expect.poll(() => findServers(folder), { interval: 20 }).toEqual([]);
}

/** Listens on a port until the test ends; false while another process still has it. */
function occupy(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen(port, '127.0.0.1', () => {
    onTestFinished(() => void server.close());
    resolve(true);
  });
  return promise;
}

test('starts with its UI and search attributes, at once usable [temporal.start]', async () => {
  const folder = holdfastFolder();
  const target = await open(folder);
  expect(target).toMatchObject({ kind: 'embedded', startedHere: true, searchAttributes: 'registered' });
  expect(Object.keys(devFile(folder).temporal ?? {}).sort()).toEqual(ENTRY_FIELDS);
  expect(existsSync(join(folder, 'temporal.db'))).toBe(true);

  const runId = await withClient(target, async (client) => {
    const attributes = SEARCH_ATTRIBUTES.map((name) => ({
      key: defineSearchAttributeKey(name, 'KEYWORD'),
      value: 'x',
    }));
    const handle = await client.workflow.start('agentTurn', {
      workflowId: WORKFLOW_ID,
      taskQueue: 'nobody',
      typedSearchAttributes: new TypedSearchAttributes(attributes),
    });
    return handle.firstExecutionRunId;
  });

  const page = workflowUrl(target, WORKFLOW_ID, runId) ?? '';
  expect(page).toBe(`${target.uiUrl}/namespaces/default/workflows/shop%2Fada%2520x%2Fs%201/${runId}/history`);
  const response = await fetch(page);
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('<html');
  // The UI's own request for that page: it decodes the path of the page once, and encodes the id once.
  const request = `workflows/${encodeURIComponent(WORKFLOW_ID)}?execution.runId=${runId}`;
  await expect
    .poll(async () => (await fetch(`${target.uiUrl}/api/v1/namespaces/default/${request}`)).json())
    .toMatchObject({ workflowExecutionInfo: { execution: { workflowId: WORKFLOW_ID, runId } } });
});

test('outlives its starter by SIGKILL and is adopted by the next [temporal.adopt]', async () => {
  const folder = holdfastFolder();
  const starter = startProgram('temporal-owner-program.ts', [folder, executable]);
  const started = JSON.parse(await starter.line());
  const { pid } = devFile(folder).temporal ?? {};
  await starter.kill();
  const next = startProgram('temporal-owner-program.ts', [folder, executable]);
  expect(JSON.parse(await next.line())).toEqual({ ...started, startedHere: false });
  expect(devFile(folder).temporal?.pid).toBe(pid);
  expect(await findServers(folder)).toEqual([pid]);
});

if (isDeep) {
  test('is adopted when its starter died before it could note the process id', async () => {
    const folder = holdfastFolder();
    const first = await open(folder);
    const { pid, ...rest } = devFile(folder).temporal ?? {};
    writeFileSync(join(folder, 'dev.json'), JSON.stringify({ v: 1, temporal: { ...rest, pid: null } }));
    writeFileSync(join(folder, 'temporal.incomplete'), '');
    expect(await open(folder)).toMatchObject({ address: first.address, startedHere: false });
    expect(devFile(folder).temporal?.pid).toBe(pid);
    // Else the next start would take the database, used by now, for a half-made one.
    expect(existsSync(join(folder, 'temporal.incomplete'))).toBe(false);
  });
}

test('is replaced after its death, on the same ports and database [temporal.adopt]', async () => {
  const folder = holdfastFolder();
  const first = await open(folder);
  const runId = await withClient(first, async (client) => {
    const handle = await client.workflow.start('agentTurn', { workflowId: WORKFLOW_ID, taskQueue: 'nobody' });
    return handle.firstExecutionRunId;
  });
  await killServer(folder);
  const second = await open(folder);
  expect(second).toMatchObject({ address: first.address, uiUrl: first.uiUrl, startedHere: true });
  const found = await withClient(second, (client) => client.workflow.getHandle(WORKFLOW_ID).describe());
  expect(found).toMatchObject({ runId, status: { name: 'RUNNING' } });
});

if (isDeep) {
  test('is replaced where it is up but has broken, which is said [temporal.adopt]', async () => {
    const folder = holdfastFolder();
    const first = await open(folder);
    const [before] = (await findServers(folder)) ?? [];
    const database = new DatabaseSync(join(folder, 'temporal.db'));
    database.exec("pragma busy_timeout = 10000; delete from namespaces where name = 'default'");
    database.close();
    expect(await answers(first.address, 500)).toBe(false);
    const lines: string[] = [];
    const second = await open(folder, undefined, (line) => lines.push(line));
    expect(second).toMatchObject({ address: first.address, startedHere: true });
    expect(lines).toContain(
      `the Temporal server at ${first.address} is up, but can't read its namespace: it is replaced`,
    );
    expect(await findServers(folder)).not.toContain(before);
    await withClient(second, async (client) => {
      await client.workflow.start('agentTurn', { workflowId: WORKFLOW_ID, taskQueue: 'nobody' });
    });
  });
}

if (isDeep) {
  test('is replaced where it stands still [temporal.adopt]', async () => {
    const folder = holdfastFolder();
    await open(folder);
    const [before = 0] = (await findServers(folder)) ?? [];
    process.kill(before, 'SIGSTOP');
    expect(await open(folder)).toMatchObject({ startedHere: true });
    expect(await findServers(folder)).not.toContain(before);
  });
}

if (isDeep) {
  test('takes other ports when someone has taken the old ones [temporal.start]', async () => {
    const folder = holdfastFolder();
    const first = await open(folder);
    await killServer(folder);
    await expect.poll(() => occupy(Number(new URL(first.uiUrl ?? '').port)), { interval: 20 }).toBe(true);
    const second = await open(folder);
    expect(second.uiUrl).not.toBe(first.uiUrl);
    expect((await fetch(second.uiUrl ?? '')).status).toBe(200);
  });
}

test('is stopped, and the other entries of dev.json stay', async () => {
  const folder = holdfastFolder();
  writeFileSync(join(folder, 'dev.json'), JSON.stringify({ v: 1, gateway: { port: 1 } }));
  await open(folder);
  const adopted = await open(folder);
  await adopted.stop?.();
  expect(await findServers(folder)).toEqual([]);
  expect(await answers(adopted.address, 500)).toBe(false);
  expect(devFile(folder)).toEqual({ v: 1, gateway: { port: 1 } });
  expect(await stopEmbedded(folder)).toBe(false);
  expect(await stopEmbedded(join(folder, 'absent'))).toBe(false);
});

if (isDeep) {
  test('is the only one on its database, also when dev.json was deleted [temporal.adopt]', async () => {
    const folder = holdfastFolder();
    await open(folder);
    const before = await findServers(folder);
    rmSync(join(folder, 'dev.json'));
    await open(folder);
    const after = await findServers(folder);
    expect(after).toHaveLength(1);
    expect(after).not.toEqual(before);
  });
}

if (isDeep) {
  test('a process that took over the noted process id is left alone', async () => {
    const folder = holdfastFolder();
    const bystander = startProgram('folder-owner-program.ts', [join(folder, 'other')]);
    await bystander.line();
    const entry = {
      address: '127.0.0.1:1',
      uiUrl: 'http://127.0.0.1:2',
      pid: bystander.pid,
      startedAt: new Date().toISOString(),
      executable,
      version: 'x',
    };
    writeFileSync(join(folder, 'dev.json'), JSON.stringify({ v: 1, temporal: entry }));
    expect(await open(folder)).toMatchObject({ startedHere: true });
    expect(process.kill(bystander.pid, 0)).toBe(true);
  });
}

test('a start that was killed while it made its database is made good', async () => {
  const folder = holdfastFolder();
  writeFileSync(join(folder, 'temporal.db'), '');
  writeFileSync(join(folder, 'temporal.incomplete'), '');
  expect(await open(folder)).toMatchObject({ startedHere: true });
  expect(existsSync(join(folder, 'temporal.incomplete'))).toBe(false);
});

test('a server that ends at once is an error with the end of its log [temporal.failed]', async () => {
  const folder = holdfastFolder();
  writeFileSync(
    join(folder, 'temporal.db'),
    'not a database, but longer than the header of one: '.repeat(10),
  );
  writeFileSync(join(folder, 'temporal.log'), 'a line of an earlier start\n');
  const failure = await open(folder).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(TemporalStartFailed);
  expect(failure).toMatchObject({ code: 'HOLDFAST_TEMPORAL_START_FAILED' });
  expect(String(failure)).toContain('not a database');
  expect(String(failure)).toContain(join(folder, 'temporal.log'));
  expect(String(failure)).not.toContain('earlier start');
  expect(devFile(folder).temporal).toBeUndefined();
});

/** A server that crashes in its first starts, as Temporal does now and then. */
function crashing(folder: string, times: number): string {
  const program = join(folder, 'crashing-temporal');
  writeFileSync(
    program,
    `#!/bin/sh
if [ "$1 $2 $3" = "server start-dev --env-file" ]; then
  n=$(cat starts 2>/dev/null || echo 0)
  echo $((n + 1)) > starts
  if [ "$n" -lt ${times} ]; then
    echo 'panic: no luck' >&2
    i=0
    while [ $i -lt 400 ]; do echo "	goroutine of the server: frame $i" >&2; i=$((i + 1)); done
    exit 2
  fi
fi
exec '${executable}' "$@"
`,
    { mode: 0o755 },
  );
  return program;
}

test.skipIf(process.platform === 'win32')(
  'a server that crashes in its start is started again [temporal.failed]',
  async () => {
    const folder = holdfastFolder();
    const opening = openTemporal({
      folder,
      executable: crashing(folder, 1),
      env: { PATH: process.env.PATH },
    });
    expect(await opening).toMatchObject({ startedHere: true });
    expect(readFileSync(join(folder, 'starts'), 'utf8')).toBe('2\n');
  },
);

test.skipIf(process.platform === 'win32')(
  'a server that crashes in each of its starts is an error with what it says of its crash [temporal.failed]',
  async () => {
    const folder = holdfastFolder();
    const opening = openTemporal({
      folder,
      executable: crashing(folder, 9),
      env: { PATH: process.env.PATH },
    });
    await expect(opening).rejects.toThrow(
      /ended at once \(exit code 2\)\. Its last lines:\n +panic: no luck\n/,
    );
    expect(readFileSync(join(folder, 'starts'), 'utf8')).toBe('3\n');
    expect(await findServers(folder)).toEqual([]);
  },
);

test('an abort ends a start and leaves no server [temporal.failed]', async () => {
  const folder = holdfastFolder();
  const abort = new AbortController();
  const opening = open(folder, abort.signal, (line) => {
    if (line.startsWith('starting Temporal')) setImmediate(() => abort.abort(new Error('enough')));
  });
  await expect(opening).rejects.toThrow('enough');
  expect(await findServers(folder)).toEqual([]);
  expect(devFile(folder).temporal).toBeUndefined();
});
