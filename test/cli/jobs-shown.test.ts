import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { tellJobAnswer } from '../../src/cli/jobs/end-job.ts';
import { JobLines } from '../../src/cli/jobs/job-lines.ts';
import { jobLines } from '../../src/cli/jobs/job-text.ts';
import { namedJob } from '../../src/cli/jobs/named-job.ts';
import { nextJobCommands } from '../../src/cli/jobs/next-job-commands.ts';
import { terminalPrinter } from '../../src/cli/run/printer.ts';
import { transcriptLines } from '../../src/cli/sessions/transcript.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { JobAnswer, JobRow } from '../../src/contract/jobs.ts';
import { createEvent } from '../../src/events/event.ts';
import { capturedOutput } from './captured-output.ts';

type JobItem = Extract<StreamItem, { type: 'job' }>;

const JOB = 'job-4fXkq0o8m1RrT2bVnZ7yLw';
const OTHER = 'job-9fXkq0o8m1RrT2bVnZ7yLw';

function item(given: Partial<JobItem> = {}): JobItem {
  return {
    type: 'job',
    runKey: 'e-1',
    callKey: 'e-1.1.0',
    tool: 'build',
    jobId: JOB,
    status: 'running',
    mode: 'parked',
    ...given,
  };
}

function row(given: Partial<JobRow> = {}): JobRow {
  return {
    jobId: JOB,
    session: 'internal',
    app: 'yard',
    userId: 'ada',
    sessionId: 's1',
    runKey: 'e-1',
    invocationId: 'e-1',
    callKey: 'e-1.1.0',
    callId: 'adk-1',
    tool: 'build',
    agent: 'keeper',
    status: 'running',
    mode: 'parked',
    since: 1_000_000,
    until: 1_000_000 + 7_200_000,
    polls: { notYet: 0, failed: 0, failedInARow: 0 },
    ...given,
  };
}

/** What is drawn in brackets, what has a line of its own without. */
function written(draws: boolean) {
  const lines: string[] = [];
  const jobs = new JobLines({
    line: (text) => void lines.push(text),
    draw: draws ? (text) => void lines.push(`[${text}]`) : undefined,
    end: () => void lines.push('(ended)'),
    hint: (jobId) => `show ${jobId}`,
  });
  return { lines, jobs };
}

describe('the lines about jobs of a turn', () => {
  test('say what it waits for, once, and how that ends [job.progress]', () => {
    const { lines, jobs } = written(false);
    jobs.item(item({ mode: 'started' }));
    jobs.item(item());
    jobs.item(item());
    jobs.item(item({ status: 'completed' }));
    jobs.item(item({ status: 'completed' }));
    expect(lines).toEqual([
      `build 1.0 waits for its job  ${JOB}  (show ${JOB})`,
      `build 1.0: its job is completed  ${JOB}`,
    ]);
  });

  test('a job that goes on without its turn is told as that [job.progress]', () => {
    const { lines, jobs } = written(false);
    jobs.item(item({ mode: 'detached' }));
    jobs.item(item({ mode: 'detached', status: 'timed_out' }));
    expect(lines).toEqual([
      `build 1.0 goes on as a job, whose result comes later  ${JOB}  (show ${JOB})`,
      `build 1.0: its job is out of time  ${JOB}`,
    ]);
  });

  test('where lines stay, progress has one for each tenth and each message [job.progress]', () => {
    const { lines, jobs } = written(false);
    jobs.item(item());
    for (let percent = 1; percent <= 100; percent++) {
      jobs.item(item({ progress: { value: percent / 100, at: percent } }));
    }
    expect(lines.length).toBeLessThanOrEqual(1 + 11);
    expect(lines.at(-1)).toBe('build 1.0  100 %');
    jobs.item(item({ progress: { value: 1, message: 'drying', at: 200 } }));
    expect(lines.at(-1)).toBe('build 1.0  100 %  drying');
  });

  test('where lines can be drawn over, all jobs share one; what is written else ends it [job.progress]', () => {
    const { lines, jobs } = written(true);
    jobs.item(item());
    jobs.item(item({ progress: { value: 0.25, message: 'walls', at: 1 } }));
    jobs.item(item({ progress: { value: 0.5, message: 'roof', at: 2 } }));
    jobs.interrupt();
    jobs.interrupt();
    const second = { jobId: OTHER, callKey: 'e-1.1.1', tool: 'paint' };
    jobs.item(item({ ...second, progress: { value: 0.1, at: 3 } }));
    jobs.item(item({ status: 'completed' }));
    expect(lines).toEqual([
      `build 1.0 waits for its job  ${JOB}  (show ${JOB})`,
      '[build  █████░░░░░░░░░░░░░░░  25 %  walls]',
      '[build  ██████████░░░░░░░░░░  50 %  roof]',
      '(ended)',
      `paint 1.1 waits for its job  ${OTHER}  (show ${OTHER})`,
      '[build 1.0 50 %  roof · paint 1.1 10 %]',
      '(ended)',
      `build 1.0: its job is completed  ${JOB}`,
      '[paint  ██░░░░░░░░░░░░░░░░░░  10 %]',
    ]);
  });

  test('at a terminal progress is one line, which nothing runs into [job.progress]', () => {
    let shown = '';
    const sink = new PassThrough();
    sink.on('data', (chunk) => {
      shown += String(chunk);
    });
    const stream = Object.assign(sink, { isTTY: true, fd: 1, columns: 40 }) as unknown as NodeJS.WriteStream;
    const printer = terminalPrinter(stream, stream);
    const progress = { value: 0.5, message: 'a message that is wider than the terminal is', at: 1 };
    printer.job(item({ progress }));
    printer.job(item({ progress: { ...progress, value: 0.6 } }));
    printer.note('else');
    const drawn = shown.split('\n').find((line) => line.includes('\r')) ?? '';
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is told by
    const states = drawn.split('\r').map((state) => state.replace(/\u001b\[[\dA-Zm;]*?[A-Za-z]/g, ''));
    expect(states.slice(1).map((state) => state.length <= 39)).toEqual([true, true]);
    expect(states.at(-1)).toMatch(/build {2}█{12}░{8} {2}60 %/);
    expect(shown).toMatch(/else[^\n]*\n$/);
  });
});

describe('holdfast jobs', () => {
  test('shows all of a job, what its service says on one line [job.progress]', () => {
    const shown = jobLines(
      row({
        progress: { value: 0.4, message: 'walls\u001b[2K\nroof', at: 1_050_000 },
        intermediate: { ordered: 'a shed' },
        polls: { notYet: 12, failed: 3, failedInARow: 2, lastError: 'no route', lastAt: 1_055_000 },
      }),
      { temporal: ['http://ui/1'], args: ['what: "a shed"'] },
      1_060_000,
    );
    expect(shown[0]).toBe(`${JOB}  running`);
    expect(shown).toContain('  tool         build of keeper, session yard/ada/s1');
    expect(shown).toContain('  call         key e-1.1.0 · id adk-1');
    expect(shown).toContain('  arguments    what: "a shed"');
    expect(shown).toContain('  mode         parked: its turn waits for it');
    expect(shown.join('\n')).toMatch(/since +\S+ \S+ \(1 min ago\)\n +until +\S+ \S+ \(in 1 h 59 min\)/);
    expect(shown).toContain(String.raw`  progress     40 %  walls\u001b[2K\u000aroof  (10 s ago)`);
    expect(shown.join('\n')).toMatch(
      /polls +12 not yet, 3 failed, 2 in a row, the last one 5 s ago\n +no route/,
    );
    expect(shown).toContain('  Temporal     http://ui/1');
  });

  test('shows who has ended it, and whether its session knows [job.cancel]', () => {
    const ended = row({
      mode: 'detached',
      status: 'cancelled',
      endedAt: 1_050_000,
      endedBy: 'operator',
      reason: 'not needed',
      outcome: { response: { error: 'cancelled: not needed' }, failed: true },
    });
    const shown = jobLines(ended, { temporal: [], args: [] }, 1_060_000).join('\n');
    expect(shown).toMatch(/ended +\S+ \S+ \(10 s ago\), by an operator/);
    expect(shown).toMatch(/reason +not needed/);
    expect(shown).toMatch(/outcome +\{\n +"error": "cancelled: not needed"/);
    expect(shown).toMatch(/delivery +the session has not been told yet/);
    const told = jobLines({ ...ended, deliveredSeq: 9 }, { temporal: [], args: [] }).join('\n');
    expect(told).toMatch(/delivery +the session was told by event 9/);
  });

  test('has commands to copy, with the folder where it is another one [job.cancel]', () => {
    expect(nextJobCommands(row(), '/tmp/a b')).toEqual([
      `npx holdfast jobs cancel ${JOB} --folder '/tmp/a b'`,
      `npx holdfast jobs complete ${JOB} --result JSON --folder '/tmp/a b'`,
      `npx holdfast jobs fail ${JOB} --error TEXT --folder '/tmp/a b'`,
    ]);
    expect(nextJobCommands(row())[0]).toBe(`npx holdfast jobs cancel ${JOB}`);
  });

  test.each<[Partial<JobAnswer>, RegExp, number]>([
    [{ status: 'ended' }, /^job-\S+ completed$/, 0],
    [{ status: 'duplicate' }, /completed: the same was said before/, 0],
    [{ status: 'known', job: 'timed_out' }, /timed out: it had ended before, and that counts/, 1],
    [{ status: 'refused', reason: 'no' }, /is as it was: no/, 1],
  ])('says what became of an order: %o [job.callback]', (given, expected, exitCode) => {
    const output = capturedOutput();
    const answer: JobAnswer = {
      v: 1,
      jobId: JOB,
      callKey: 'e-1.1.0',
      status: 'ended',
      job: 'completed',
      ...given,
    };
    expect(tellJobAnswer(answer, output)).toBe(exitCode);
    expect(output.lines.join('\n')).toMatch(expected);
  });

  test('finds a job by its id, or by the key or id of its call; else says what there is [job.cancel]', async () => {
    const rows = [row(), row({ jobId: OTHER, callKey: 'e-1.1.1', sessionId: 's2' })];
    const jobs = {
      list: async () => rows,
      get: async (jobId: string) => rows.find((each) => each.jobId === jobId),
    };
    expect(await namedJob(JOB, {}, jobs)).toBe(rows[0]);
    expect(await namedJob('e-1.1.1', {}, jobs)).toBe(rows[1]);
    await expect(namedJob('adk-1', {}, jobs)).rejects.toThrow(
      `several jobs of calls with this id go on: name one of ${JOB}, ${OTHER}`,
    );
    await expect(namedJob(JOB, { session: 's2' }, jobs)).rejects.toThrow(/there is no job .* of that app/);
    await expect(namedJob(JOB.slice(0, -1), {}, jobs)).rejects.toThrow(
      new RegExp(`did you mean ${JOB}\\?: see holdfast jobs list, with --status all`),
    );
  });
});

test('a transcript tells a response behind which others come, and those that come later [job.detach]', () => {
  const events = [
    response('responses', 'keeper', { ordered: 'a shed' }, true),
    response('message', 'user', { shed: 'red' }),
  ];
  const lines = transcriptLines(events, { paint: (_style, text) => text });
  expect(lines.some((line) => line.endsWith('keeper  ← order (goes on) {"ordered":"a shed"}'))).toBe(true);
  expect(lines.some((line) => line.endsWith('later  ← order {"shed":"red"}'))).toBe(true);
});

function response(
  kind: StoredEvent['kind'],
  author: string,
  value: Record<string, unknown>,
  willContinue?: true,
): StoredEvent {
  const functionResponse = {
    id: 'adk-1',
    name: 'order',
    response: value,
    ...(willContinue ? { willContinue } : {}),
  };
  const event = createEvent({
    invocationId: 'e-1',
    author,
    content: { role: 'user', parts: [{ functionResponse }] },
  });
  return { seq: 1, kind, runKey: 'e-1', step: 1, event };
}
