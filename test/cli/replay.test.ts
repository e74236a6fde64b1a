import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { CliError } from '../../src/cli/cli-error.ts';
import { type ReplayOptions, replayCommand } from '../../src/cli/replay/replay-command.ts';
import { bundlePath } from '../../worker/bundle.ts';
import { RECORDED, type RecordedHistory, readHistory } from '../setup/histories.ts';
import { capturedOutput } from './captured-output.ts';

const historyOf = (kind: string) => RECORDED.find((each) => each.kind === kind) as RecordedHistory;
const recorded = (kind: string) => readHistory(historyOf(kind));

const work = mkdtempSync(join(tmpdir(), 'holdfast-replay-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

let files = 0;
function fileOf(content: unknown): string {
  files += 1;
  const file = join(work, `history-${files}.json`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

async function replayed(paths: string[], options: ReplayOptions = {}) {
  const output = capturedOutput();
  const code = await replayCommand(paths, options, output);
  return { code, ...output };
}

/** The bundle of a release that calls an activity by another name. */
function changedBundle(activity: string): string {
  const path = join(work, `${activity}.js`);
  writeFileSync(path, readFileSync(bundlePath(), 'utf8').replaceAll(activity, 'holdfast.another'));
  return path;
}

test('a folder of recorded histories replays: exit 0 [cli.replay]', async () => {
  const folder = join(work, 'some');
  mkdirSync(folder);
  const names = ['answer', 'calls-in-parallel', 'continues-as-new'];
  for (const name of names) writeFileSync(join(folder, `${name}.json`), JSON.stringify(recorded(name)));
  writeFileSync(join(folder, 'notes.txt'), 'no history');
  const { code, lines, notes } = await replayed([folder, join(folder, 'answer.json')]);
  expect(lines).toEqual(
    names.map((name) => `ok    ${join(folder, name)}.json (${recorded(name).history.events.length} events)`),
  );
  expect(notes.at(-1)).toBe('3 of 3 replay');
  expect(code).toBe(0);
});

test('what temporal workflow show prints and the UI downloads: events alone, and a list of them [cli.replay]', async () => {
  const { history } = recorded('answer');
  const { code, values } = await replayed([fileOf(history), fileOf(history.events)], { json: true });
  const ok = { ok: true, workflowId: 'histories/ada/answer', events: history.events.length };
  expect(values()).toEqual([expect.objectContaining(ok), expect.objectContaining(ok)]);
  expect(code).toBe(0);
});

test('a release that does something else: between which events, and what is different; exit 1 [cli.replay]', async () => {
  const found = RECORDED.find(({ path }) => readFileSync(path, 'utf8').includes('"holdfast.settleStep"'));
  const { path: file, kind } = found as RecordedHistory;
  const { events } = recorded(kind).history;
  const settled = events.find(
    (event: { activityTaskScheduledEventAttributes?: { activityType: { name: string } } }) =>
      event.activityTaskScheduledEventAttributes?.activityType.name === 'holdfast.settleStep',
  );
  const { code, values } = await replayed([file], {
    bundle: changedBundle('holdfast.settleStep'),
    json: true,
  });
  expect(code).toBe(1);
  const [{ problem }] = values() as [{ problem: { events: { from: string; to: string } } }];
  expect(problem).toMatchObject({
    kind: 'nondeterminism',
    message:
      "Activity type of scheduled event 'holdfast.settleStep' does not match activity type of activity command 'holdfast.another'",
  });
  const { from, to } = problem.events;
  expect(Number(from)).toBeLessThanOrEqual(Number(settled.eventId));
  expect(Number(to)).toBeGreaterThanOrEqual(Number(settled.eventId));
  expect(Number(to) - Number(from)).toBeLessThan(events.length / 2);
});

test('for people: the file, the place, and what to do [cli.replay]', async () => {
  const file = historyOf('answer').path;
  const { code, lines } = await replayed([file], { bundle: changedBundle('holdfast.callModel') });
  expect(lines).toEqual([
    `fails ${file}`,
    expect.stringMatching(
      /^ {6}events \d+ to \d+: Activity type of scheduled event 'holdfast\.callModel' does not/,
    ),
    expect.stringContaining('Keep workers of the release that began the run'),
  ]);
  expect(code).toBe(1);
});

test.each([
  ['no JSON', 'once upon a time', 'it is not JSON'],
  ['another JSON', { a: 1 }, 'it is no history: expected { "events": [ … ] }'],
  ['no events', { events: [] }, 'its first event is no WorkflowExecutionStarted'],
  [
    'a part of a history',
    { events: [{ eventId: '5', eventType: 'X', xEventAttributes: {} }] },
    'save the whole history',
  ],
  ['another workflow', withStarted({ workflowType: { name: 'pay' } }), 'it is of a workflow of type "pay"'],
  [
    'encoded payloads',
    withStarted({ input: { payloads: [{ metadata: { encoding: btoa('binary/encrypted') }, data: '' }] } }),
    'its payloads are encoded (binary/encrypted): save it through your codec server',
  ],
])('%s: says what it is [cli.replay]', async (_what, content, message) => {
  const { code, values, lines } = await replayed([fileOf(content)], { json: true });
  expect(values()).toEqual([
    expect.objectContaining({
      ok: false,
      problem: { kind: 'unreadable', message: expect.stringContaining(message) },
    }),
  ]);
  expect(lines).toHaveLength(1);
  expect(code).toBe(1);
});

test('a history with events taken out is no success [cli.replay]', async () => {
  const damaged = recorded('calls-in-parallel');
  damaged.history.events.splice(8, 3);
  const { code, values } = await replayed([fileOf(damaged)], { json: true });
  expect(values()).toEqual([
    expect.objectContaining({ ok: false, problem: expect.objectContaining({ kind: 'failed' }) }),
  ]);
  expect(code).toBe(1);
});

test('what cannot be read is a finding, and the others are replayed [cli.replay]', async () => {
  const folder = join(work, 'mixed');
  mkdirSync(join(folder, 'a.json'), { recursive: true });
  writeFileSync(join(folder, 'b.json'), JSON.stringify(recorded('answer')));
  const { code, values } = await replayed([folder], { json: true });
  expect(values()).toEqual([
    expect.objectContaining({
      ok: false,
      problem: { kind: 'unreadable', message: expect.stringContaining("it can't be read: EISDIR") },
    }),
    expect.objectContaining({ ok: true }),
  ]);
  expect(code).toBe(1);
});

test('a path without a file, and a folder without histories [cli.replay]', async () => {
  await expect(replayed([join(work, 'none.json')])).rejects.toThrow(/none\.json: no such file/);
  const empty = join(work, 'empty');
  mkdirSync(empty);
  await expect(replayed([empty])).rejects.toBeInstanceOf(CliError);
});

function withStarted(attributes: object): object {
  const { history } = recorded('answer');
  const [first, ...rest] = history.events;
  const started = { ...first.workflowExecutionStartedEventAttributes, ...attributes };
  return { events: [{ ...first, workflowExecutionStartedEventAttributes: started }, ...rest] };
}
