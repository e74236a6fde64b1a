import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completeJob } from '../../src/cli/jobs/end-job.ts';
import type { JobRow } from '../../src/contract/jobs.ts';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';
import { isDeep } from '../setup/tier.ts';
import { capturedOutput } from './captured-output.ts';
import { holdfastHere } from './command-here.ts';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';

const agents = fileURLToPath(new URL('./agents/jobs.ts', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'holdfast-jobs-'));
const folder = join(work, '.holdfast');
const effects = join(work, 'effects');
const env = { EFFECTS: effects };

const command = (...args: string[]) => holdfastHere([...args, '--folder', folder]);
const runArgs = (session: string, message: string, ...args: string[]) => [
  'run',
  agents,
  '--folder',
  folder,
  ...['--session', session, '--message-id', `m-${session}`, '--message', message],
  ...args,
];

/** A turn that waits for its job, in the process that has the folder. */
async function waiting(session: string, ...args: string[]) {
  const run = new HoldfastProcess(runArgs(session, `build ${session}`, ...args), { cwd: work, env });
  await run.prints(/waits for its job|"mode":"parked"/);
  const [job] = await jobsOf(session);
  return { run, job: job as JobRow };
}

async function jobsOf(session: string, ...args: string[]): Promise<JobRow[]> {
  const { stdout, stderr } = await command('jobs', 'list', '--session', session, '--json', ...args);
  expect(stderr).not.toMatch(/^holdfast:/m);
  return JSON.parse(stdout).jobs;
}

function effectsOf(): string[] {
  return readFileSync(effects, { encoding: 'utf8', flag: 'a+' }).split('\n').slice(0, -1);
}

beforeAll(() => putStore(folder));
afterAll(async () => {
  await endServer(folder);
  rmSync(work, { recursive: true, force: true });
});

describe('a turn that waits for a job', () => {
  test('says so with what tells more, and goes on with the result that the command line gives [job.park] [job.callback]', async () => {
    const { run, job } = await waiting('shed');
    expect(job).toMatchObject({
      status: 'running',
      mode: 'parked',
      tool: 'build',
      agent: 'keeper',
      app: 'yard',
    });
    expect(run.stderr).toContain(
      `build 1.0 waits for its job  ${job.jobId}  (npx holdfast jobs show ${job.jobId} --folder `,
    );
    const listed = await command('jobs', 'list');
    expect(listed.stdout).toMatch(
      new RegExp(
        `^JOB .*\\n${job.jobId} +running +parked +\\d+ s ago +in 23 h 59 min +yard/user/shed +build`,
      ),
    );
    const shown = await command('jobs', 'show', job.callKey);
    expect(shown.stdout).toMatch(/arguments +what: "shed"\n/);
    expect(shown.stdout).toMatch(/mode +parked: its turn waits for it/);
    expect(shown.stdout).toMatch(/Temporal +http:\S+\/workflows\/yard%2Fuser%2Fshed\/\S+\/history/);
    expect(shown.stdout).toContain(`npx holdfast jobs complete ${job.jobId} --result JSON --folder `);
    const completed = await command('jobs', 'complete', job.jobId, '--result', '{"shed":"red"}');
    expect(completed).toMatchObject({ code: 0, stdout: `${job.jobId} completed\n` });
    const { code, stdout, stderr } = await run.finished();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('keeper  It came to {"shed":"red"}.');
    expect(effectsOf()).toEqual(['build shed']);

    const again = await command('jobs', 'complete', job.jobId, '--result', '{"shed":"red"}');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('the same was said before') });
    const late = await command('jobs', 'fail', job.jobId, '--error', 'too late');
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('{"shed":"red"}') });
    const ended = await command('jobs', 'show', job.jobId);
    expect(ended.stdout).toMatch(/^job-\S+ {2}completed\n/);
    expect(ended.stdout).toMatch(/ended +.*, by an operator/);
    expect(await jobsOf('shed')).toEqual([]);
    expect(await jobsOf('shed', '--status', 'completed')).toMatchObject([{ jobId: job.jobId }]);
  });

  if (isDeep) {
    test('has sensitive arguments, which are not shown [job.park]', async () => {
      const left = await holdfast(runArgs('hidden', 'hide treasure', '--no-wait'), { cwd: work, env });
      expect(left).toMatchObject({ code: 3 });
      const [job] = await jobsOf('hidden');
      const shown = await command('jobs', 'show', job?.jobId ?? '');
      expect(shown.stdout).toMatch(/arguments +\(sensitive\)\n/);
      const asJson = await command('jobs', 'show', job?.jobId ?? '', '--json');
      expect(JSON.parse(asJson.stdout)).toMatchObject({ jobId: job?.jobId, args: { ref: { digest: '' } } });
      expect([shown.stdout, asJson.stdout].join()).not.toContain('treasure');
      await command('jobs', 'cancel', job?.jobId ?? '');
    });
  }

  if (isDeep) {
    test('is left with 3 by --no-wait; its tool hears of a cancellation with the next worker [run.noWait] [job.cancel]', async () => {
      const left = await holdfast(runArgs('fence', 'build fence', '--no-wait'), { cwd: work, env });
      expect(left).toMatchObject({ code: 3 });
      expect(left.stderr).toMatch(/the turn waits for a job, and is kept; follow it with: npx holdfast run /);
      const [job] = await jobsOf('fence');
      const cancelled = await command('jobs', 'cancel', job?.jobId ?? '', '--reason', 'no wood', '--json');
      expect(JSON.parse(cancelled.stdout)).toMatchObject({ status: 'ended', job: 'cancelled' });
      const followed = await holdfast(runArgs('fence', 'build fence'), { cwd: work, env });
      expect(followed).toMatchObject({ code: 0, stdout: expect.stringContaining('cancelled: no wood') });
      expect(effectsOf()).toContain('stop fence');
    });
  }

  if (isDeep) {
    test('--json prints the news of its job as lines with a type [cli.json] [job.progress]', async () => {
      const { run, job } = await waiting('wall', '--json');
      const failed = await command('jobs', 'fail', job.jobId, '--error', 'it rains');
      expect(failed).toMatchObject({ code: 0, stdout: `${job.jobId} failed\n` });
      const { code, stdout } = await run.finished();
      expect(code).toBe(0);
      const news = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .filter(({ type }) => type === 'job');
      expect(news.at(0)).toMatchObject({ jobId: job.jobId, tool: 'build', status: 'running' });
      expect(news.at(-1)).toMatchObject({ jobId: job.jobId, status: 'failed' });
      expect(stdout).toContain('it rains');
    });
  }

  if (isDeep) {
    test('is shown with its job to whoever attaches later [cli.attach] [job.park]', async () => {
      const { run, job } = await waiting('gate');
      const second = new HoldfastProcess(runArgs('gate', 'build gate'), { cwd: work, env });
      await second.prints(new RegExp(`build 1\\.0 waits for its job {2}${job.jobId}`));
      await command('jobs', 'complete', job.jobId, '--result', '"open"');
      const ends = await Promise.all([run.finished(), second.finished()]);
      for (const { code, stdout } of ends) {
        expect({ code, stdout }).toMatchObject({
          code: 0,
          stdout: expect.stringContaining('{"result":"open"}'),
        });
      }
    });
  }
});

if (isDeep) {
  describe('a job that goes on without its turn', () => {
    test('is told of at the end of the turn, and again by the next command, with what came of it [job.detach]', async () => {
      const ordered = await holdfast(runArgs('sand', 'order sand'), { cwd: work, env });
      expect(ordered).toMatchObject({ code: 0, stdout: expect.stringContaining('{"ordered":"sand"}') });
      const [job] = await jobsOf('sand');
      expect(job).toMatchObject({ mode: 'detached', intermediate: { ordered: 'sand' } });
      expect(ordered.stderr).toContain(`the job ${job?.jobId} goes on`);
      const completed = await command('jobs', 'complete', job?.jobId ?? '', '--result', '{"sacks":3}');
      expect(completed).toMatchObject({ code: 0 });
      // Any turn brings a worker, which tells the session.
      await holdfast(runArgs('other', 'hello'), { cwd: work, env });
      const dev = new HoldfastProcess(['dev', agents, '--folder', folder, '--no-chat'], { cwd: work, env });
      await expect
        .poll(async () => (await command('sessions', 'show', 'yard/user/sand')).stdout)
        .toMatch(/later {2}← order \{"sacks":3\}(?:.|\n)*keeper {2}It came to \{"sacks":3\}\./);
      const transcript = (await command('sessions', 'show', 'yard/user/sand')).stdout;
      expect(transcript).toContain('keeper  ← order (goes on) {"ordered":"sand"}');
      expect((await command('jobs', 'show', job?.jobId ?? '')).stdout).toMatch(
        /delivery +the session was told by event \d+/,
      );
      dev.kill('SIGTERM');
      await dev.finished();
    });

    test('shows its turn in the chat by itself, and is cancelled there [job.detach] [job.cancel]', async () => {
      const dev = new HoldfastProcess(['dev', agents, '--folder', folder, '--session', 'chat'], {
        cwd: work,
        env,
        typed: true,
      });
      await dev.prints(/session {3}yard\/user\/chat/);
      dev.type('order bricks');
      await dev.prints(/goes on as a job, whose result comes later {2}job-\S+ {2}\(\/jobs tells more\)/);
      await dev.prints(/It came to \{"ordered":"bricks"\}/);
      const [bricks] = await jobsOf('chat');
      dev.type('/jobs');
      await dev.prints(new RegExp(`${bricks?.jobId} {2}running`));
      const completed = await command('jobs', 'complete', bricks?.jobId ?? '', '--result', '{"bricks":500}');
      expect(completed).toMatchObject({ code: 0 });
      await dev.prints(/← order \{"bricks":500\}/);
      await dev.prints(/It came to \{"bricks":500\}/);
      dev.type('order tiles');
      await dev.prints(/It came to \{"ordered":"tiles"\}/);
      const [tiles] = await jobsOf('chat');
      dev.type(`/cancel ${tiles?.jobId}`);
      await dev.prints(new RegExp(`${tiles?.jobId} cancelled`));
      await dev.prints(/It came to \{"error":"cancelled"\}/);
      dev.type('/quit');
      expect((await dev.finished()).code).toBe(0);
      expect(effectsOf()).toContain('withdraw tiles');
    });
  });
}

describe('what can be typed wrong', () => {
  test('is told with what to type instead [job.cancel]', async () => {
    const none = 'job-AAAAAAAAAAAAAAAAAAAAAA';
    const completed = completeJob(none, { folder, env: {}, result: '-' }, capturedOutput(), () => '{');
    await expect(completed).rejects.toThrow(/standard input \(--result -\): expected JSON/);
  });
});
