import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isOfTests } from '../../src/cli/replay/replay-history.ts';
import { bundlePath, testWorkflowBundle } from '../../worker/bundle.ts';
import { RECORDED, type RecordedHistory, readHistory } from '../setup/histories.ts';
import { inTier } from '../setup/tier.ts';
import { TURN_KINDS } from '../setup/turn-kinds.ts';

/** Of those that an invented release has to replay: a tenth in `npm test`, which replays all of them on the current bundle. */
const some = RECORDED.filter((_, index) => index % inTier(10, 1) === 0);

async function replay(
  codePath: string,
  recorded: readonly RecordedHistory[],
): Promise<Record<string, string | undefined>> {
  const errors: Record<string, string | undefined> = {};
  const histories = recorded.map(readHistory);
  const [ofTests = [], others = []] = [true, false].map((wanted) =>
    histories.filter(({ history }) => isOfTests(history) === wanted),
  );
  for (const [workflowBundle, those] of [
    [await testWorkflowBundle(codePath), ofTests],
    [{ codePath }, others],
  ] as const) {
    const replayed = Worker.runReplayHistories({ workflowBundle }, those);
    for await (const { workflowId, runId, error } of replayed) {
      errors[`${workflowId} ${runId}`] = error?.message;
    }
  }
  return errors;
}

const work = mkdtempSync(join(tmpdir(), 'holdfast-replay-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

beforeAll(() => {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
  });
});

test('there is a history of each kind of turn [replay]', () => {
  const kinds = Object.keys(TURN_KINDS);
  expect([...new Set(RECORDED.map(({ kind }) => kind))].sort()).toEqual(kinds.sort());
});

test('every recorded history replays on the current bundle [replay]', async () => {
  const errors = await replay(bundlePath(), RECORDED);
  expect(Object.keys(errors)).toHaveLength(RECORDED.length);
  expect(Object.values(errors).filter((error) => error !== undefined)).toEqual([]);
});

/** The bundle of another release: each text that it changes, with what stands there instead. */
function changedBundle(...changes: readonly (readonly [was: string, is: string])[]): string {
  const path = join(work, `${randomUUID()}.js`);
  let code = readFileSync(bundlePath(), 'utf8');
  for (const [was, is] of changes) {
    expect(code).toContain(was);
    code = code.replaceAll(was, is);
  }
  writeFileSync(path, code);
  return path;
}

test('a bundle that does something else is found out [replay]', async () => {
  const path = changedBundle(
    ['holdfast.callModel', 'holdfast.askModel'],
    ['holdfast.deliverJob', 'holdfast.tellJob'],
    ['holdfast.deliverNotice', 'holdfast.tellNotice'],
    ['holdfast.rememberSession', 'holdfast.readSession'],
    ['const PAYLOAD_LIMIT = 64 * 1024', 'const PAYLOAD_LIMIT = 128 * 1024'],
  );
  const errors = await replay(path, some);
  expect(Object.values(errors).filter((error) => error === undefined)).toEqual([]);
});

const TEMPORAL = '__webpack_require__("./node_modules/@temporalio/workflow/lib/index.js")';

/** A second release, whose turns begin with a timer where this is so. */
function secondRelease(condition: string): string {
  const begins = 'async function agentTurn(given, carriedOver) {';
  return changedBundle([begins, `${begins} if (${condition}) void ${TEMPORAL}.sleep(1);`]);
}

test('histories of one release replay on the next, which does something else behind patched() [upgrade.patched]', async () => {
  const errors = await replay(secondRelease(`${TEMPORAL}.patched('a-timer-first')`), some);
  expect(Object.values(errors).filter((error) => error !== undefined)).toEqual([]);
});

test('a release that does it without patched() is found out [upgrade.patched]', async () => {
  const errors = Object.entries(await replay(secondRelease('true'), some));
  const others = errors.filter(([, error]) => error === undefined).map(([run]) => run);
  // Of toolJob, deliverNotice and rememberSession, which it has not changed.
  expect(others.filter((run) => !/\/job\/|\/notice-\d|\/memory-/.test(run))).toEqual([]);
  expect(errors.length).toBeGreaterThan(others.length);
});
