import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import type { Event } from '../../src/events/event.ts';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';
import { isDeep } from '../setup/tier.ts';
import { holdfastHere } from './command-here.ts';
import { type Finished, HoldfastProcess, holdfast } from './holdfast-process.ts';

const agents = fileURLToPath(new URL('./agents/gated.ts', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'holdfast-approvals-'));
const folder = join(work, '.holdfast');
const effects = join(work, 'effects');
const SECRET = 'sesame-7f31';
const env: Record<string, string> = { EFFECTS: effects, SECRET };

const command = (...args: string[]) => holdfastHere([...args, '--folder', folder]);
const runArgs = (session: string, message: string, ...args: string[]) => [
  'run',
  agents,
  '--folder',
  folder,
  ...['--session', session, '--message-id', `m-${session}`, '--message', message],
  ...args,
];
/** A turn that waits, in the process that has the folder. */
async function waiting(session: string, message = 'small', ...args: string[]) {
  const run = new HoldfastProcess(runArgs(session, message, ...args), { cwd: work, env });
  await run.prints(/waits for a person/);
  return { run, request: await requestOf(session) };
}

async function requestsOf(session: string, ...args: string[]): Promise<ApprovalRow[]> {
  const { stdout, stderr } = await command('approvals', 'list', '--session', session, '--json', ...args);
  expect(stderr).not.toMatch(/^holdfast:/m);
  return JSON.parse(stdout).approvals;
}

async function requestOf(session: string): Promise<string> {
  const [request] = await requestsOf(session);
  return request?.requestId ?? '';
}

function effectsOf(): string[] {
  return readFileSync(effects, { encoding: 'utf8', flag: 'a+' }).split('\n').slice(0, -1);
}

function answered(finished: Finished): { code: number | null; last: string } {
  return { code: finished.code, last: finished.stdout.trimEnd().split('\n').at(-1) ?? '' };
}

beforeAll(async () => {
  putStore(folder);
  const { stdout } = await holdfast(['keys', 'create', '--approver', 'mira', '--json'], { cwd: work });
  env.ISSUER = JSON.stringify(JSON.parse(stdout).issuer);
});
afterAll(async () => {
  await endServer(folder);
  rmSync(work, { recursive: true, force: true });
});

describe('a turn that waits for an approval', () => {
  if (isDeep) {
    test('is left with 3 by --no-wait, and answered and followed later [run.noWait]', async () => {
      const left = await holdfast(runArgs('left', 'small', '--no-wait'), { cwd: work, env });
      expect(left.code).toBe(3);
      expect(left.stdout).toMatch(/asks for an approval: refund: Refund 102 EUR of A-1\? {2}rq-\S+\n$/);
      expect(left.stderr).toMatch(/rq-\S+ waits for a person; it is answered by\n.*approvals approve rq-/);
      const follow = /the turn waits for people, and is kept; follow it with: npx holdfast (.*)$/m.exec(
        left.stderr,
      );
      const request = await requestOf('left');
      const rejected = await command('approvals', 'reject', request, '--reason', 'too old');
      expect(rejected).toMatchObject({ code: 0 });
      const followed = await holdfast(follow?.[1]?.split(' ') ?? [], { cwd: work, env });
      expect(answered(followed)).toEqual({ code: 0, last: expect.stringContaining('too old') });
      expect(effectsOf()).toEqual([]);
    });
  }

  test('is shown with its event by --json, and goes on when others answer through its process [run.noWait]', async () => {
    const { run, request } = await waiting('others', 'small', '--json');
    expect(run.stderr).toContain(`npx holdfast approvals approve ${request}`);
    const approved = await command('approvals', 'approve', request);
    expect(approved).toMatchObject({ code: 0, stdout: `${request} approved\n` });
    expect(approved.stderr).toMatch(/arguments {2,}amount: 102\n/);
    expect(approved.stderr).toContain('sent as a plain signal: recorded as unverified');
    const { code, stdout } = await run.finished();
    const events: Event[] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const asks = events.find(({ longRunningToolIds }) => longRunningToolIds?.includes(request));
    expect(asks?.content?.parts?.[0]?.functionCall).toMatchObject({
      id: request,
      name: 'adk_request_confirmation',
      args: { originalFunctionCall: { name: 'refund', args: { order: 'A-1', amount: 102 } } },
    });
    expect(code).toBe(0);
    expect(effectsOf()).toEqual(['A-1 102']);
  });

  if (isDeep) {
    test('by its approver counts signed only, as the audit proves [approval.approvers] [approval.audit]', async () => {
      const { run, request } = await waiting('signed', 'big');
      const plain = await command('approvals', 'approve', request);
      expect(plain.code).toBe(1);
      const signing = ['--as', 'mira', '--key', join(work, 'mira.key.json')];
      const signed = await command('approvals', 'approve', request, ...signing, '--json');
      expect(JSON.parse(signed.stdout)).toMatchObject({
        requestId: request,
        signed: true,
        status: 'approved',
      });
      expect((await run.finished()).code).toBe(0);
      const shown = await command('approvals', 'show', request);
      expect(shown.stdout).toMatch(/votes {2,}approved by mira by cli/);
      const verified = await command('approvals', 'audit', 'verify', 'desk/user/signed');
      expect(verified).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/holds: \d+ rows, each bound/),
      });
      const rows = JSON.parse(
        (await command('approvals', 'audit', 'show', 'desk/user/signed', '--json')).stdout,
      ).rows;
      expect(rows.map(({ kind }: { kind: string }) => kind)).toEqual(
        expect.arrayContaining(['requested', 'refused', 'approved']),
      );
    });
  }
});

if (isDeep) {
  describe('other things that people are asked', () => {
    test('input is checked by the schema that is shown [input.request]', async () => {
      const { run, request } = await waiting('asked', 'ask');
      expect((await command('approvals', 'show', request)).stdout).toMatch(/schema {2,}\{/);
      const wrong = await command('approvals', 'answer', request, '--response', '{"size":"M"}');
      expect(wrong).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/does not fit what is asked: size: expected one of "S", "L"/),
      });
      expect(await command('approvals', 'answer', request, '--response', '{"size":"L"}')).toMatchObject({
        code: 0,
      });
      expect(answered(await run.finished())).toEqual({
        code: 0,
        last: expect.stringContaining('"size":"L"'),
      });
    });

    test('a credential is stored from standard input, given by its reference, and in no output [credential.request] [credential.secret]', async () => {
      const { run, request } = await waiting('charged', 'charge');
      const whose = ['--app', 'desk', '--user', 'user', '--name', 'cards', '--type', 'bearer'];
      const onCommandLine = await command('credentials', 'add', ...whose, '--secret', SECRET);
      expect(onCommandLine).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/--secret: a command line is read by other processes/),
      });
      expect(onCommandLine.stderr).not.toContain(SECRET);
      const add = new HoldfastProcess(['credentials', 'add', ...whose, '--folder', folder], {
        cwd: work,
        env,
        typed: true,
      });
      add.type(SECRET);
      add.endOfInput();
      const added = await add.finished();
      expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cr-[\w-]{22}\n$/) });
      const ref = added.stdout.trim();
      const listed = await command('credentials', 'list', '--app', 'desk');
      expect(listed.stdout).toMatch(new RegExp(`${ref} +user +cards +http`));
      const given = await command('approvals', 'provide-credential', request, '--credential', ref);
      expect(given).toMatchObject({ code: 0, stdout: `${request} answered\n` });
      const finished = await run.finished();
      expect(answered(finished)).toEqual({ code: 0, last: expect.stringContaining('"fits":true') });
      expect(JSON.stringify([finished, added, listed, given])).not.toContain(SECRET);
      const removed = await command('credentials', 'remove', 'cards', '--app', 'desk');
      expect(removed).toMatchObject({ code: 0, stdout: `${ref} is removed\n` });
      expect(await command('credentials', 'remove', 'cards', '--app', 'desk')).toMatchObject({ code: 1 });
    });
  });
}
