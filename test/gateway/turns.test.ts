import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { InvalidTurn, MessageRejected, TurnRunning } from '../../src/client/client-errors.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import {
  createGateway,
  type Gateway,
  localAccess,
  type ServedGateway,
  serveGateway,
} from '../../src/gateway/index.ts';
import { NoSuchPlace } from '../../src/store/store-errors.ts';
import { type ClientScene, newSession, openClientScene } from '../client/client-scene.ts';
import { textOf } from '../docs/documents.ts';
import { CuttingProxy } from './cutting-proxy.ts';
import { checkedFetch, DocumentCheck, readDocument } from './document-check.ts';
import { ABOUT, collecting, type LoggedLine, TOKEN } from './gateway-stub.ts';

let scene: ClientScene;
let gateway: Gateway;
let served: ServedGateway;
let check: DocumentCheck;
let through: GatewayClient;
const lines: LoggedLine[] = [];

beforeAll(async () => {
  scene = await openClientScene();
  gateway = gatewayOf();
  served = await serveGateway({ gateway });
  check = new DocumentCheck(await readDocument(gatewayOf(['document']), 'document'));
  through = new GatewayClient({ url: served.url, token: TOKEN, fetch: checkedFetch(check) });
});
beforeEach(() => scene.held.hold());
afterAll(async () => {
  await served.close();
  await scene.environment.close();
});

function gatewayOf(hosts?: string[]): Gateway {
  return createGateway({
    client: scene.client,
    about: () => ABOUT,
    ready: async () => ({ temporal: true, store: true }),
    access: localAccess({ token: TOKEN, ...(hosts === undefined ? {} : { hosts }) }),
    logger: collecting(lines),
  });
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const get = (path: string, headers: Record<string, string> = {}) =>
  checkedFetch(check)(served.url + path, { headers: { authorization: `Bearer ${TOKEN}`, ...headers } });

const pathOf = ({ app, userId, sessionId }: { app: string; userId: string; sessionId: string }) =>
  `/v1/apps/${[app, 'users', userId, 'sessions', sessionId].map(encodeURIComponent).join('/')}`;

describe('GatewayClient', () => {
  test('sends a message, whose turn is found again by its id [gateway.turns]', async () => {
    const names = { app: 'test', userId: 'ada/lovelace ü', sessionId: `${randomUUID()} %2F?#` };
    const turn = await through.sendMessage({ ...names, message: 'hello', messageId: 'm/1' });
    expect(turn).toMatchObject({ messageId: 'm/1', disposition: 'started', attached: false });
    const result = await turn.result();
    expect(result).toMatchObject({
      status: 'completed',
      text: 'answer to hello',
      events: { from: 1, to: 2 },
    });
    const again = await through.turn({ ...names, messageId: 'm/1' });
    expect(again).toMatchObject({ workflowId: turn.workflowId, invocationId: turn.invocationId });
    expect(await again?.result()).toMatchObject({ text: 'answer to hello' });
    expect(await again?.receipt()).toMatchObject({ status: 'finished', confirmed: true });
    const stored = await scene.environment.store.sessions.readEvents(names);
    expect(await all(turn.events())).toEqual(stored);
    expect(await all(turn.events({ after: 1 }))).toEqual(stored.slice(1));
    const streamed = (await all(turn.stream())).filter(({ type }) => type === 'event');
    expect(streamed).toEqual(stored.map((each) => ({ type: 'event', ...each })));
    expect(await through.turn({ ...names, messageId: 'm2' })).toBeUndefined();
  });

  test('runs a turn anew from a call on [gateway.turns]', async () => {
    const { names, first } = await scene.holding();
    const { sessions } = through;
    const callKey = `${first.invocationId}.1.0`;
    await expect(sessions.retry({ ...names, callKey })).rejects.toBeInstanceOf(TurnRunning);
    scene.held.release();
    await first.result();
    const retried = await sessions.retry({ ...names, callKey });
    expect(retried).toMatchObject({ messageId: first.messageId });
    expect(retried.invocationId).not.toBe(first.invocationId);
    expect(await retried.result()).toMatchObject({ status: 'completed', invocationId: retried.invocationId });
    await expect(sessions.retry({ ...names, callKey: 'none' })).rejects.toBeInstanceOf(NoSuchPlace);
  });

  test('has the errors of messages in their classes [gateway.turns]', async () => {
    const { names } = await scene.holding();
    const refused = through.sendMessage({ ...names, message: 'third', policy: 'reject' });
    await expect(refused).rejects.toBeInstanceOf(MessageRejected);
    await expect(through.sendMessage({ ...names, message: '' })).rejects.toBeInstanceOf(InvalidTurn);
    scene.held.release();
  });

  test('gets the text of an answer while it is written [gateway.events]', async () => {
    const names = newSession();
    await (await through.sendMessage({ ...names, message: 'one' })).result();
    const stop = new AbortController();
    const items: StreamItem[] = [];
    const following = (async () => {
      for await (const item of through.stream(names, { signal: stop.signal })) items.push(item);
    })();
    await expect.poll(() => items.length).toBe(2);
    const turn = await through.sendMessage({ ...names, message: 'two', runConfig: { streamingMode: 'sse' } });
    await turn.result();
    await expect.poll(() => items.filter(({ type }) => type === 'event').length).toBe(4);
    stop.abort();
    await following;
    const written = items.flatMap((item) => (item.type === 'text' ? [item.text] : []));
    expect(written.join('')).toBe('answer to two');
    expect(items.at(-1)).toMatchObject({ type: 'event', seq: 4 });
  });
});

describe('over HTTP', () => {
  test('a result is waited for, and a turn that runs says how it stands [gateway.turns]', async () => {
    const { names, first } = await scene.holding();
    const path = `${pathOf(names)}/turns/${first.messageId}`;
    const early = await get(path);
    expect(early.status).toBe(202);
    expect(await early.json()).toMatchObject({
      invocationId: first.invocationId,
      status: { status: 'running', running: [{ tool: 'hold' }] },
      links: { result: path, ui: expect.stringContaining('/workflows/test%2Fada%2F') },
    });
    const late = get(`${path}?wait=60`);
    scene.held.release();
    expect((await late).status).toBe(200);
    expect(await (await get(path)).json()).toMatchObject({ result: { status: 'completed' } });
    expect((await get(`${path}?wait=61`)).status).toBe(400);
    expect((await get(`${pathOf(names)}/turns/none`)).status).toBe(404);
  });

  test('events come in pages [gateway.events]', async () => {
    const names = newSession();
    for (const message of ['one', 'two'])
      await (await scene.client.sendMessage({ ...names, message })).result();
    const stored = await scene.environment.store.sessions.readEvents(names);
    const page = async (query: string) => await (await get(`${pathOf(names)}/events${query}`)).json();
    expect(await page('')).toEqual({ events: stored, last: 4, more: false });
    expect(await page('?limit=3')).toEqual({ events: stored.slice(0, 3), last: 3, more: true });
    expect(await page('?after=3&limit=3')).toEqual({ events: stored.slice(3), last: 4, more: false });
    expect(await page('?after=4')).toEqual({ events: [], last: 4, more: false });
    expect((await get(`${pathOf(newSession())}/events`)).status).toBe(404);
  });

  test('a follower whose connection is cut has every event once, and the end [gateway.events]', async () => {
    const proxy = await CuttingProxy.open();
    const cut = await serveGateway({ gateway: gatewayOf([`127.0.0.1:${proxy.port}`]) });
    proxy.target = cut.port;
    proxy.allowance = () => 1_200 + Math.floor(Math.random() * 2_500);
    try {
      const client = new GatewayClient({ url: `http://127.0.0.1:${proxy.port}`, token: TOKEN });
      const names = newSession();
      const stop = new AbortController();
      const sessionSeen: StoredEvent[][] = [[], [], []];
      const followers = sessionSeen.map(async (seen, index) => {
        for await (const each of client.follow(names, { after: index, signal: stop.signal })) seen.push(each);
      });
      const turns: StoredEvent[][] = [];
      for (const message of ['one', 'hold two', 'three']) {
        scene.held.release();
        const turn = await scene.client.sendMessage({ ...names, message, messageId: message });
        const found = await untilThere(() => client.turn({ ...names, messageId: message }));
        turns.push(await all(found.events()));
        expect(await found.result()).toMatchObject({ invocationId: turn.invocationId, status: 'completed' });
      }
      const stored = await scene.environment.store.sessions.readEvents(names);
      await expect.poll(() => sessionSeen.map(({ length }) => length)).toEqual([8, 7, 6]);
      stop.abort();
      await Promise.all(followers);
      expect(sessionSeen).toEqual([stored, stored.slice(1), stored.slice(2)]);
      expect(turns.flat()).toEqual(stored);
      expect(proxy.cuts).toBeGreaterThan(3);
    } finally {
      await proxy.close();
      await cut.close();
    }
  });

  test('the command lines of its page do what it says [gateway.turns]', async (context) => {
    context.skip(spawnSync('curl', ['--version']).status !== 0, 'curl is not installed');
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-curl-'));
    try {
      mkdirSync(join(folder, '.holdfast'));
      const entry = { v: 1, gateway: { url: served.url, token: TOKEN, pid: process.pid } };
      writeFileSync(join(folder, '.holdfast', 'dev.json'), JSON.stringify(entry));
      const fences = textOf('docs/gateway.md').matchAll(/^```sh\n(.*?)^```$/gms);
      const script = [...fences]
        .map(([, lines]) => lines)
        .join('')
        .replaceAll('curl ', 'curl --silent --show-error --fail --max-time 30 ')
        // That one has no end.
        .replace(/--max-time 30(.*"Accept: text\/event-stream" .*)/, '--max-time 1$1 || [ $? = 28 ]');
      const { status, stdout, stderr } = await finished(spawn('sh', ['-e', '-c', script], { cwd: folder }));
      expect({ status, stderr: stderr.replace(/^curl: \(28\).*\n/m, '') }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toContain('"taskQueue":"holdfast"');
      expect(stdout).toContain('"disposition":"started"');
      expect(stdout).toContain('"result":{"v":1');
      expect(stdout.match(/^event: (\w+)$/gm)).toEqual([
        'event: event',
        'event: event',
        'event: end',
        'event: event',
        'event: event',
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('what was answered is what the document says, for every route but the errors’ [gateway.document]', () => {
    // The operations of nouns: operations.test.ts of test/contract.
    const shownElsewhere = ({ tags = [] }: { tags?: string[] }) =>
      ['Approvals', 'Artifacts', 'Corpora', 'Credentials', 'Jobs', 'Memories', 'Sessions', 'Steering'].some(
        (tag) => tags.includes(tag),
      );
    const operations = Object.values(check.document.paths)
      .flatMap((methods) => Object.values(methods))
      .filter((operation) => !shownElsewhere(operation));
    const answered = operations.filter(({ operationId }) =>
      [...check.seen].some((each) => each.startsWith(`${operationId} 2`)),
    );
    const left = operations
      .filter((operation) => !answered.includes(operation))
      .map(({ operationId }) => operationId);
    expect(left.sort()).toEqual(['getAbout', 'getDocument', 'getHealth', 'getReadiness', 'listTurns']);
    expect(check.seen).toContain('getTurn 202');
    expect(check.seen).toContain('sendMessage 409');
  });

  test('what was answered has all fields of the document, and no others [gateway.document]', () => {
    // Events are ADK's: the document names what clients need of them.
    expect([...check.undocumented].filter((field) => !field.startsWith('Event.'))).toEqual([]);
    expect(check.unanswered('EventPage')).toEqual([]);
  });

  test('the log has a line for each request, without the names of users [gateway.local]', () => {
    const requests = lines.filter(({ message }) => message === 'request');
    expect(requests.length).toBeGreaterThan(20);
    expect(JSON.stringify(lines)).not.toMatch(/lovelace|hello|answer to/);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

/** A line that is bad enough cuts single answers, too. */
async function untilThere<T>(find: () => Promise<T | undefined>): Promise<T> {
  let found: T | undefined;
  await expect
    .poll(async () => {
      found = await find().catch(() => undefined);
      return found !== undefined;
    })
    .toBe(true);
  if (found === undefined) throw new Error('it was there');
  return found;
}

async function finished(child: ChildProcessWithoutNullStreams) {
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { status: status as number, stdout, stderr };
}
