import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { CliError } from '../../src/cli/cli-error.ts';
import { replayCommand } from '../../src/cli/replay/replay-command.ts';
import type { Printer } from '../../src/cli/run/printer.ts';
import { namedSession } from '../../src/cli/sessions/named-session.ts';
import { retrySession } from '../../src/cli/sessions/retry-session.ts';
import {
  deleteSession,
  forkSession,
  listSessions,
  rewindSession,
  showSession,
} from '../../src/cli/sessions/session-commands.ts';
import { stopCommand } from '../../src/cli/stop-command.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { Session } from '../../src/contract/sessions.ts';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { isDeep } from '../setup/tier.ts';
import { capturedOutput } from './captured-output.ts';
import { openSessionScene, type SessionScene, TASK_QUEUE } from './session-scene.ts';

let looks = 0;
const look = tool({
  name: 'look',
  description: 'Looks an order up.',
  parameters: z.object({ id: z.string() }),
  execute: ({ id }) => {
    looks += 1;
    return { id, looks, note: 'x'.repeat(300) };
  },
});
const agent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [look] });

/** Keeps what a command prints of a turn. */
function recordingPrinter(): Printer & { events: StoredEvent[]; status: string[] } {
  const events: StoredEvent[] = [];
  const status: string[] = [];
  const ignored = () => undefined;
  return {
    events,
    status,
    note: ignored,
    started: ignored,
    text: ignored,
    textDropped: ignored,
    callStarted: ignored,
    callFinished: ignored,
    toolChunk: ignored,
    toolChunksDropped: ignored,
    job: ignored,
    endLine: ignored,
    event: (stored) => void events.push(stored),
    outcome: (outcome) => void status.push(outcome.status),
  };
}

const env = {};
let scene: SessionScene;
const places = () => ({ folder: scene.folder, env });

beforeAll(async () => {
  scene = await openSessionScene(agent, (_request, { functionResponses, userText }) => {
    if (functionResponses.length > 0 || userText.startsWith('hello'))
      return text(`done\u001b[31m: ${userText}`);
    return call('look', { id: 'A-1' });
  });
  const names = { app: 'shop', userId: 'ada', sessionId: 's1' };
  for (const message of ['hello there', 'where is A-1?']) {
    await (
      await scene.client.sendMessage({ ...names, message, messageId: message, stateDelta: { last: message } })
    ).result();
  }
  const other = { app: 'shop', userId: 'user', sessionId: 'a/b' };
  await (await scene.client.sendMessage({ ...other, message: 'hello' })).result();
});
afterAll(() => scene.close());

async function shown(argument: string, options: object = {}): Promise<string[]> {
  const output = capturedOutput();
  await showSession(argument, { ...places(), ...options }, output);
  return output.lines;
}

async function session(
  argument: string,
): Promise<Session & { events: readonly (StoredEvent & { hidden?: true })[] }> {
  const output = capturedOutput();
  await showSession(argument, { ...places(), json: true }, output);
  return output.values()[0] as Session;
}

describe('through the gateway of the process that has the folder', () => {
  test('list: newest first, one line each; limited, filtered, as JSON [cli.sessions]', async () => {
    const output = capturedOutput();
    await listSessions({ ...places(), limit: 20, order: 'desc' }, output);
    expect(output.lines[0]?.split(/\s{2,}/)).toEqual([
      'APP',
      'USER',
      'SESSION',
      'EVENTS',
      'UPDATED',
      'AGENT',
      'TOKENS',
    ]);
    expect(output.lines.slice(1).map((line) => line.split(/\s{2,}/).slice(0, 4))).toEqual([
      ['shop', 'user', 'a/b', '2'],
      ['shop', 'ada', 's1', '6'],
    ]);
    const limited = capturedOutput();
    const one = { ...places(), limit: 1, order: 'asc' as const, app: 'shop', withTotal: true };
    await listSessions({ ...one, json: true }, limited);
    expect(limited.values()).toEqual([
      { sessions: [expect.objectContaining({ userId: 'ada', sessionId: 's1', seq: 6 })], totalItems: 2 },
    ]);
    const told = capturedOutput();
    await listSessions(one, told);
    await listSessions({ ...one, withTotal: false }, told);
    expect(told.notes).toEqual(['1 of 2 sessions; more with --limit', '1 sessions; more with --limit']);
    const nobody = capturedOutput();
    await listSessions({ ...places(), limit: 20, order: 'desc', user: 'nobody' }, nobody);
    expect(nobody).toMatchObject({ lines: [], notes: ['no sessions'] });
  });

  test('of an app that is not there people hear that, and which there are; programs get nothing [cli.apps]', async () => {
    const list = { ...places(), limit: 20, order: 'desc' as const, app: 'shpo' };
    await expect(listSessions(list, capturedOutput())).rejects.toThrow(
      '--app: the app "shpo" has no sessions; did you mean "shop"?; there are those of shop',
    );
    const shown = capturedOutput();
    await listSessions({ ...list, json: true }, shown);
    expect(shown.values()).toEqual([{ sessions: [] }]);
  });

  test('show: each event with number, time and author, calls with their keys, long results cut [cli.sessions]', async () => {
    const { events } = await session('shop/ada/s1');
    const [hello, order] = [events[0]?.event.invocationId, events[2]?.event.invocationId];
    const lines = await shown('shop/ada/s1', { state: true });
    expect(lines[0]).toMatch(
      /^shop\/ada\/s1 · 6 events · updated .* ago · agent support · 3 model calls, \d+ tokens$/,
    );
    expect(lines[1]).toBe('  last = "where is A-1?"');
    const transcript = lines.slice(2).map((line) => line.replace(/\d\d:\d\d:\d\d/, 'TIME'));
    expect(transcript).toEqual([
      `   ${hello}`,
      expect.stringMatching(/^ {3}\d{4}-\d\d-\d\d$/),
      '1  TIME  you  hello there',
      '             you  sets last',
      '2  TIME  support  done\\u001b[31m: hello there',
      `   ${order}`,
      '3  TIME  you  where is A-1?',
      '             you  sets last',
      `4  TIME  support  → look({"id":"A-1"})  ${order}.1.0`,
      expect.stringMatching(
        /^5 {2}TIME {2}support {2}← look \{"id":"A-1","looks":1,"note":"x+… \d+ characters$/,
      ),
      '6  TIME  support  done\\u001b[31m: where is A-1?',
    ]);
    expect((await shown('shop/ada/s1', { last: 1 })).at(-1)).toMatch(/^6 /);
    expect(await shown('shop/ada/s1', { last: 1 })).toHaveLength(4);
    const raw = await shown('shop/ada/s1', { after: 4, events: true });
    expect(raw.map((line) => JSON.parse(line).seq)).toEqual([5, 6]);
  });

  test('a session is named by its id, by a path like a workflow id, or by its parts [cli.sessions]', async () => {
    expect(await shown('a%2Fb', { user: 'user' }).catch(String)).toMatch(/have no session a%2Fb/);
    expect((await shown('shop/user/a%2Fb'))[0]).toMatch(/^shop\/user\/a\/b /);
    expect((await shown('a/b', { user: 'user' }))[0]).toMatch(/^shop\/user\/a\/b /);
    const apps = async () => ['one', 'two'];
    const odd = { app: 'a b', userId: 'ü/1', sessionId: '100%' };
    expect(await namedSession(workflowIdOf('a b', 'ü/1', '100%'), {}, apps)).toEqual(odd);
    expect(await namedSession('s', { app: 'x' }, apps)).toEqual({ app: 'x', userId: 'user', sessionId: 's' });
    for (const [argument, problem] of [
      ['s', /several apps have sessions: choose one with --app one\|two/],
      ['a/b', /expected a session's id, or app\/user\/session/],
      ['a//b', /expected a session's id/],
      ['a/b/%E0%A4%A', /not URI-encoded/],
      [workflowIdOf('a', 'b', 'c'.repeat(80)), /shortened.*--session|shortened.*give --app/s],
      ['', /expected text, got nothing/],
    ] as const) {
      const error = await namedSession(argument, {}, apps).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(CliError);
      expect(error).toMatchObject({ message: expect.stringMatching(problem), code: 'HOLDFAST_COMMAND_LINE' });
    }
  });

  test('fork at an event, then rewind and retry it: what is hidden is marked, the turn runs anew [cli.sessions]', async () => {
    const forked = capturedOutput();
    await forkSession('shop/ada/s1', { ...places(), to: 'fork', at: 6, json: true }, forked);
    expect(forked.values()).toEqual([
      { app: 'shop', userId: 'ada', sessionId: 'fork', seq: 6, forkedFrom: { sessionId: 's1', seq: 6 } },
    ]);
    const fork = { ...places(), user: 'ada' };
    await expect(rewindSession('fork', { ...fork, turns: 3 }, capturedOutput())).rejects.toThrow(
      /has 2 turns/,
    );
    await expect(rewindSession('fork', fork, capturedOutput())).rejects.toThrow(
      /either --before .* or --turns/,
    );
    const rewound = capturedOutput();
    await rewindSession('fork', { ...fork, turns: 1 }, rewound);
    expect(rewound.lines).toEqual(['events 3 to 6 are hidden from agents; they stay in the store']);
    const lines = await shown('fork', { user: 'ada' });
    expect(lines.filter((line) => line.endsWith('(hidden)'))).toHaveLength(4);
    expect(lines.at(-1)).toMatch(/^7 .* rewind: hides what came after 2, from e-\S+ on$/);

    const { events } = await session('shop/ada/s1');
    const callKey = `${events[3]?.runKey}.1.0`;
    const printer = recordingPrinter();
    const retried = capturedOutput();
    const before = looks;
    const code = await retrySession('s1', { ...places(), user: 'ada', from: callKey }, retried, printer);
    expect(code).toBe(0);
    expect(looks).toBe(before + 1);
    expect(printer.status).toEqual(['completed']);
    expect(printer.events.at(-1)?.event.content?.parts?.[0]?.text).toContain('where is A-1?');
    expect(retried.notes[0]).toContain(TASK_QUEUE);
    await expect(
      retrySession('s1', { ...places(), user: 'ada', from: 'e-none.1.0' }, capturedOutput(), printer),
    ).rejects.toMatchObject({ code: 'HOLDFAST_NO_SUCH_PLACE' });
  });

  test('delete: asks, wants --yes where it can ask nobody, and counts [cli.sessions]', async () => {
    await scene.client.sessions.create({ app: 'shop', userId: 'user', sessionId: 'old' });
    await expect(deleteSession('old', places(), capturedOutput())).rejects.toMatchObject({
      message: expect.stringContaining('--yes'),
      code: 'HOLDFAST_COMMAND_LINE',
    });
    const questions: string[] = [];
    const refused = capturedOutput((question) => questions.push(question) < 0);
    expect(await deleteSession('old', places(), refused)).toBe(1);
    expect(questions).toEqual([expect.stringContaining('Delete session shop/user/old?')]);
    expect(refused.notes).toEqual(['nothing was deleted']);
    const confirmed = capturedOutput(() => true);
    expect(await deleteSession('old', places(), confirmed)).toBe(0);
    expect(confirmed.lines).toEqual([
      'deleted a session: old',
      'Temporal was asked to delete the histories of 0 runs',
    ]);
    await forkSession('shop/ada/s1', { ...places() }, capturedOutput());
    await expect(
      deleteSession('shop/ada/s1', { ...places(), yes: true }, capturedOutput()),
    ).rejects.toMatchObject({ code: 'HOLDFAST_SESSION_HAS_FORKS' });
  });
});

test("what the Temporal UI's API gives of a run replays, as `temporal workflow show` prints it [cli.replay]", async () => {
  const { temporal } = JSON.parse(readFileSync(join(scene.folder, 'dev.json'), 'utf8'));
  const workflow = encodeURIComponent('shop/user/a%2Fb');
  const answer = await fetch(`${temporal.uiUrl}/api/v1/namespaces/default/workflows/${workflow}/history`);
  const { history } = (await answer.json()) as { history: unknown };
  const file = join(scene.folder, 'history.json');
  writeFileSync(file, JSON.stringify(history));
  const output = capturedOutput();
  expect(await replayCommand([file], { json: true }, output)).toBe(0);
  expect(output.values()).toEqual([
    { file, ok: true, workflowId: 'shop/user/a%2Fb', events: expect.any(Number) },
  ]);
});

describe('with nobody in the folder', () => {
  if (isDeep) {
    test('store and server are opened here: deletion takes forks and histories along, a retry is kept for its workers [cli.sessions]', async () => {
      await forkSession('shop/user/a%2Fb', { ...places(), to: 'second' }, capturedOutput());
      const { events } = await session('shop/ada/s1');
      await scene.endOwner();
      const listed = capturedOutput();
      await listSessions({ ...places(), limit: 20, order: 'asc', json: true }, listed);
      const [{ sessions }] = listed.values() as [{ sessions: Session[] }];
      expect(sessions.map(({ sessionId }) => sessionId)).toEqual(
        expect.arrayContaining(['s1', 'a/b', 'second']),
      );
      const deleted = capturedOutput();
      await deleteSession(
        'shop/user/a%2Fb',
        { ...places(), yes: true, withForks: true, json: true },
        deleted,
      );
      expect(deleted.values()).toEqual([
        {
          sessions: expect.arrayContaining(
            ['a/b', 'second'].map((sessionId) => ({ app: 'shop', userId: 'user', sessionId })),
          ),
          runs: 1,
        },
      ]);

      const from = `${events.findLast(({ kind }) => kind === 'responses')?.runKey}.1.0`;
      const printer = recordingPrinter();
      const retried = capturedOutput();
      const code = await retrySession('shop/ada/s1', { ...places(), from }, retried, printer, 500);
      expect({ code, status: printer.status }).toEqual({ code: 0, status: [] });
      expect(retried.notes.join('\n')).toContain(`task queue ${TASK_QUEUE}`);
      expect(retried.notes.at(-1)).toMatch(
        /worker .*The turn is kept: start a worker.*sessions show shop\/ada\/s1/s,
      );
    });
  }

  test('a folder that isn’t there is not made [cli.sessions]', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'holdfast-none-'));
    const folder = join(empty, '.holdfast');
    const missing = { folder, env, limit: 20, order: 'desc' as const };
    await expect(listSessions(missing, capturedOutput())).rejects.toThrow(
      /there is no folder .*\.holdfast: nothing has run with it yet.*--folder.*holdfast run/s,
    );
    await expect(deleteSession('s', { folder, env, yes: true }, capturedOutput())).rejects.toThrow(
      /there is no folder/,
    );
    const stopped = capturedOutput();
    await stopCommand({ folder, json: true }, stopped);
    expect(stopped.values()).toEqual([{ stopped: false }]);
    expect(existsSync(folder)).toBe(false);
    await expect(listSessions({ ...missing, folder: empty }, capturedOutput())).rejects.toThrow(
      /no store in the folder/,
    );
    expect(existsSync(join(empty, 'store'))).toBe(false);
    rmSync(empty, { recursive: true });
  });
});
