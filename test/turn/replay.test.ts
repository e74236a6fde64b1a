import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, expect, test } from 'vitest';
import { isOfTests } from '../../src/cli/replay/replay-history.ts';
import { bundlePath, testWorkflowBundle } from '../../worker/bundle.ts';
import { TURN_KINDS } from '../setup/turn-kinds.ts';

const folder = fileURLToPath(new URL('../histories/', import.meta.url));
const recorded = readdirSync(folder).filter((file) => file.endsWith('.json'));

function histories() {
  return recorded.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
}

async function replay(codePath: string): Promise<Record<string, string | undefined>> {
  const errors: Record<string, string | undefined> = {};
  const [ofTests = [], others = []] = [true, false].map((wanted) =>
    histories().filter(({ history }) => isOfTests(history) === wanted),
  );
  for (const [workflowBundle, some] of [
    [await testWorkflowBundle(codePath), ofTests],
    [{ codePath }, others],
  ] as const) {
    const replayed = Worker.runReplayHistories({ workflowBundle }, some);
    for await (const { workflowId, runId, error } of replayed) {
      errors[`${workflowId} ${runId}`] = error?.message;
    }
  }
  return errors;
}

beforeAll(() => {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
  });
});

test('there is a history of every kind of turn [replay]', () => {
  const names = recorded.map((file) => file.replace(/\.json$/, ''));
  expect(names).toEqual(expect.arrayContaining(Object.keys(TURN_KINDS)));
});

test('every recorded history replays on the current bundle [replay]', async () => {
  const errors = await replay(bundlePath());
  expect(Object.keys(errors)).toHaveLength(recorded.length);
  expect(Object.values(errors).filter((error) => error !== undefined)).toEqual([]);
});

test('a turn of an earlier release that a workflow has started replays, too [replay]', async () => {
  const started = JSON.parse(readFileSync(join(folder, 'queued-message.json'), 'utf8'));
  const [begun] = started.history.events;
  Object.assign(begun.workflowExecutionStartedEventAttributes, {
    parentWorkflowNamespace: 'default',
    parentWorkflowExecution: { workflowId: 'starter', runId: randomUUID() },
    parentInitiatedEventId: '5',
  });
  const workflowBundle = { codePath: bundlePath() };
  await expect(
    Worker.runReplayHistory({ workflowBundle }, started.history, started.workflowId),
  ).resolves.toBe(undefined);
});

test('a turn of an earlier release whose gates a newer worker has made replays, too [replay]', async () => {
  const workflowBundle = { codePath: bundlePath() };
  for (const kind of ['approved', 'rejected', 'expired', 'cancelled-while-waiting', 'quorum']) {
    const { history, workflowId } = JSON.parse(readFileSync(join(folder, `${kind}.json`), 'utf8'));
    let gates = 0;
    for (const { activityTaskCompletedEventAttributes: completed } of history.events) {
      for (const payload of completed?.result?.payloads ?? []) {
        if (payload.data === undefined) continue;
        const outcome = JSON.parse(Buffer.from(payload.data, 'base64').toString());
        for (const { gate } of outcome?.calls ?? []) {
          if (gate === undefined) continue;
          // The workers of that release didn't know of it.
          gate.notifiesEnd = true;
          gates += 1;
        }
        payload.data = Buffer.from(JSON.stringify(outcome)).toString('base64');
      }
    }
    expect([kind, gates]).not.toEqual([kind, 0]);
    await expect(Worker.runReplayHistory({ workflowBundle }, history, workflowId)).resolves.toBe(undefined);
  }
});

test('a bundle that does something else is found out [replay]', async () => {
  const changed = join(tmpdir(), `holdfast-changed-bundle-${process.pid}.js`);
  writeFileSync(
    changed,
    readFileSync(bundlePath(), 'utf8')
      .replaceAll('holdfast.callModel', 'holdfast.askModel')
      .replaceAll('holdfast.deliverJob', 'holdfast.tellJob')
      .replaceAll('holdfast.deliverNotice', 'holdfast.tellNotice')
      .replaceAll('message-too-large', 'another-patch'),
  );
  try {
    const errors = await replay(changed);
    expect(Object.values(errors).filter((error) => error === undefined)).toEqual([]);
  } finally {
    rmSync(changed);
  }
});
