import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { GatewayUnreachable } from '../../src/client/client-errors.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import type { HoldfastApi } from '../../src/client/holdfast-api.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import {
  type Access,
  createGateway,
  type Gateway,
  localAccess,
  networkAccess,
  type ServedGateway,
  serveGateway,
} from '../../src/gateway/index.ts';
import { writeDevEntry } from '../../worker/folder/dev-file.ts';
import { acquireFolder } from '../../worker/folder/lock.ts';
import { findLocalGateway, openLocalGateway } from '../../worker/local-gateway.ts';
import { ABOUT, collecting, type LoggedLine, stubTurn, TOKEN } from './gateway-stub.ts';

const closings: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

const NAMES = { app: 'shop', userId: 'ada', sessionId: 's1' };
const options = (client: Partial<HoldfastApi> = {}) => ({
  client: client as HoldfastApi,
  about: () => ABOUT,
  ready: async () => ({ temporal: true, store: true }),
  access: localAccess({ token: TOKEN }),
  logger: collecting([]),
});

async function served(
  client: Partial<HoldfastApi> = {},
  more: { port?: number; idleTimeout?: number } = {},
): Promise<ServedGateway & { gateway: Gateway }> {
  const gateway = createGateway(options(client));
  const serving = await serveGateway({ gateway, ...more });
  closings.push(serving.close);
  return { ...serving, gateway };
}

async function logged(): Promise<ServedGateway & { lines: LoggedLine[] }> {
  const lines: LoggedLine[] = [];
  const serving = await serveGateway({ gateway: { ...options(), logger: collecting(lines) } });
  closings.push(serving.close);
  return { ...serving, lines };
}

const bearer = { authorization: `Bearer ${TOKEN}` };
const clientOf = (url: string, patience?: number) =>
  new GatewayClient({ url, token: TOKEN, ...(patience === undefined ? {} : { patience }) });

function stored(seq: number, filling = ''): StoredEvent {
  const event = { id: String(seq), invocationId: 'e-1', timestamp: 1, actions: {}, errorMessage: filling };
  return { seq, kind: 'model', runKey: 'e-1', step: 1, event: event as unknown as StoredEvent['event'] };
}

/** Speaks to a port as no well-meaning client does. */
async function answerTo(port: number, text: string, host = '127.0.0.1'): Promise<string> {
  const socket = connect(port, host);
  socket.end(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

/** Resolves with the status line. */
async function spoken(port: number, text: string, host?: string): Promise<string> {
  const answer = await answerTo(port, text, host);
  return answer.split('\r\n', 1)[0] ?? '';
}

describe('a served gateway', () => {
  test('is reached by the names of this machine, and by its port only [gateway.local]', async () => {
    const { port, url } = await served();
    expect(url).toBe(`http://127.0.0.1:${port}`);
    const get = (host: string, more = '') =>
      spoken(
        port,
        `GET /v1/about HTTP/1.1\r\nHost: ${host}\r\n${more}Authorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
      );
    for (const host of ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]']) {
      expect(await get(`${host}:${port}`)).toBe('HTTP/1.1 200 OK');
    }
    for (const host of ['127.0.0.1', `evil.example:${port}`, `127.0.0.1:${port + 1}`, `127.0.0.2:${port}`]) {
      expect(await get(host)).toBe('HTTP/1.1 403 Forbidden');
    }
    expect(await get(`127.0.0.1:${port}`, `Origin: http://localhost:${port}\r\n`)).toBe('HTTP/1.1 200 OK');
    expect(await get(`127.0.0.1:${port}`, 'Origin: http://localhost:1\r\n')).toBe('HTTP/1.1 403 Forbidden');
  });

  test('takes no request that could be understood in two ways [gateway.local]', async () => {
    const { port } = await served();
    const own = `127.0.0.1:${port}`;
    const ask = (lines: string[], target = '/v1/about') =>
      spoken(port, `GET ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`);
    const token = `Authorization: Bearer ${TOKEN}`;
    const refused = /^HTTP\/1\.1 (400|401|403) /;
    expect(await ask([`Host: ${own}`, token])).toBe('HTTP/1.1 200 OK');
    expect(await ask([`Host: ${own}`, 'Host: evil.example', token])).toMatch(refused);
    expect(await ask(['Host: evil.example', `Host: ${own}`, token])).toMatch(refused);
    expect(await ask([`Host: ${own}`, token, 'Authorization: Bearer x'])).toMatch(refused);
    expect(
      await ask([`Host: ${own}`, token, 'Origin: http://evil.example', `Origin: http://${own}`]),
    ).toMatch(refused);
    expect(await ask([`Host: ${own}`, token], 'http://evil.example/v1/about')).toMatch(refused);
    expect(await ask([`Host: ${own}`, token], `http://me:secret@${own}/v1/about`)).toMatch(refused);
    expect(await ask([token])).toMatch(refused);
    expect(await ask(['Host: ', token])).toMatch(refused);
  });

  test.each([
    ['GET', '/v1/apps/a\\b/sessions', ''],
    ['GET', '/v1/about', ':0x7f'],
    ['OPTIONS', '*', ''],
  ])('says in JSON that %s %s is none where the host has "%s" behind it', async (method, target, more) => {
    const { port } = await served();
    const head = `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}${more}\r\n`;
    const answer = await answerTo(port, `${head}Authorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*"code":"HOLDFAST_GATEWAY_BAD_REQUEST"/s);
  });

  test('takes a sender that goes away in the middle of its body for no failure', async () => {
    const { lines, port } = await logged();
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /v1/apps/a/users/u/sessions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"state":',
      () => socket.destroy(),
    );
    await expect
      .poll(() => lines.map(({ level, attributes }) => [level, attributes.status]))
      .toEqual([['info', 400]]);
  });

  test.each(['0.0.0.0', '::', 'example.com', '192.168.1.2', ''])(
    'does not listen on "%s" with a token alone [gateway.local]',
    async (host) => {
      await expect(serveGateway({ gateway: options(), host })).rejects.toMatchObject({
        name: 'GatewayNotLocal',
        code: 'HOLDFAST_GATEWAY_NOT_LOCAL',
        message: expect.stringContaining('127.0.0.1, localhost or ::1'),
      });
    },
  );

  test('listens where it is told to with an access of users', async () => {
    const access: Access = { reach: 'network', screen: () => undefined, authenticate: () => 'forbidden' };
    const { url, close } = await serveGateway({ gateway: { ...options(), access }, host: '0.0.0.0' });
    closings.push(close);
    expect((await fetch(`${url}/v1/health`)).status).toBe(200);
  });

  test('refuses a body that grows too large, while it comes', async () => {
    const gateway = createGateway({ ...options(), bodyLimit: 1_000 });
    const { url, close } = await serveGateway({ gateway });
    closings.push(close);
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 500;
        controller.enqueue(new Uint8Array(500).fill(0x20));
        if (sent > 2_000_000) controller.close();
      },
    });
    const answer = await fetch(`${url}/v1/apps/a/users/u/sessions`, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: endless,
      duplex: 'half',
    });
    expect(answer.status).toBe(413);
  });

  test('ends its streams when it closes, and frees its port [gateway.events]', async () => {
    const { url, port, close, gateway } = await served({
      stream: async function* (_names, { signal } = {}): AsyncGenerator<StreamItem, void, undefined> {
        yield { type: 'event', ...stored(1) };
        await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      },
    });
    const path = `${url}/v1/apps/shop/users/ada/sessions/s1/events`;
    const open = await fetch(path, { headers: { ...bearer, accept: 'text/event-stream' } });
    await expect.poll(() => gateway.openStreams).toBe(1);
    const text = open.text();
    await close();
    expect(await text).toMatch(/^retry: 1000\n\nid: 1\nevent: event\n.*: the gateway closes\n\n$/s);
    const next = await serveGateway({ gateway: options(), port });
    await next.close();
  });

  test('cuts off a follower that has stopped reading, and keeps nothing for it [gateway.events]', async () => {
    let made = 0;
    let isOver = false;
    const { port, gateway } = await served(
      {
        follow: async function* (): AsyncGenerator<StoredEvent, void, undefined> {
          try {
            for (;;) yield stored(++made, 'x'.repeat(100_000));
          } finally {
            isOver = true;
          }
        },
      },
      { idleTimeout: 300 },
    );
    const socket: Socket = connect(port, '127.0.0.1');
    closings.push(() => socket.destroy());
    socket.write(
      `GET /v1/apps/shop/users/ada/sessions/s1/events?partial=false HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n` +
        `Accept: text/event-stream\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
    );
    await once(socket, 'readable');
    socket.pause();
    await expect.poll(() => isOver).toBe(true);
    expect(gateway.openStreams).toBe(0);
    // What the operating system takes for both ends of a connection, and no more.
    expect(made).toBeLessThan(200);
  });
});

describe('a client of the gateway', () => {
  const result = {
    ...{ v: 1, invocationId: 'e-1', status: 'completed' as const, events: { from: 1, to: 2 }, others: [] },
    usage: { modelCalls: 1, promptTokens: 1, outputTokens: 1, totalTokens: 2 },
  };

  test('waits for a result while its gateway restarts [gateway.turns]', async () => {
    const ended = Promise.withResolvers<never>();
    const first = await served({
      turn: async () => stubTurn({ result: () => ended.promise }),
      sendMessage: async () => stubTurn({}),
      status: async () => undefined,
    });
    const turn = await clientOf(first.url).sendMessage({ ...NAMES, message: 'hi', messageId: 'm1' });
    const awaited = turn.result();
    await first.close();
    await served(
      { turn: async () => stubTurn({ result: async () => result as never }) },
      { port: first.port },
    );
    expect(await awaited).toEqual(result);
  });

  test('gives up where the gateway has refused [gateway.turns]', async () => {
    const { url } = await served({ turn: async () => undefined, sendMessage: async () => stubTurn({}) });
    const turn = await clientOf(url).sendMessage({ ...NAMES, message: 'hi' });
    await expect(turn.result()).rejects.toMatchObject({ code: 'HOLDFAST_GATEWAY_NO_SUCH_TURN', status: 404 });
    const stranger = new GatewayClient({ url, token: 'x'.repeat(43) });
    await expect(stranger.about()).rejects.toMatchObject({ status: 401 });
    const following = stranger.follow(NAMES)[Symbol.asyncIterator]();
    await expect(following.next()).rejects.toMatchObject({ code: 'HOLDFAST_GATEWAY_UNAUTHENTICATED' });
  });

  test('says where nobody is [gateway.turns]', async () => {
    const { url, close } = await served();
    await close();
    const client = clientOf(url, 0);
    await expect(client.about()).rejects.toBeInstanceOf(GatewayUnreachable);
    await expect(client.about()).rejects.toThrow(/can't be reached: ECONNREFUSED/);
    await expect(client.follow(NAMES)[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(
      GatewayUnreachable,
    );
  });

  test('stops where its caller says so [gateway.turns]', async () => {
    const { url } = await served({
      turn: async () => stubTurn({ result: () => new Promise(() => undefined) }),
      sendMessage: async () => stubTurn({}),
      stream: async function* (_names, { signal } = {}): AsyncGenerator<StreamItem, void, undefined> {
        await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      },
    });
    const client = clientOf(url);
    const turn = await client.sendMessage({ ...NAMES, message: 'hi' });
    const stop = new AbortController();
    const awaited = turn.result({ signal: stop.signal });
    const followed = client.stream(NAMES, { signal: stop.signal })[Symbol.asyncIterator]().next();
    stop.abort();
    await expect(awaited).rejects.toThrow(/abort/i);
    expect(await followed).toEqual({ done: true, value: undefined });
  });
});

describe('a gateway that other machines reach', () => {
  const [address] = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal);

  test('takes nobody of them for a program of its own, whatever they call it [gateway.local]', async ({
    skip,
  }) => {
    skip(address === undefined, 'this machine has no address but its own');
    const access = networkAccess({
      publicUrl: 'https://agents.example.com',
      local: localAccess({ token: TOKEN }),
      checks: [{ check: () => undefined }],
    });
    const serving = await serveGateway({ gateway: { ...options(), access }, host: '0.0.0.0' });
    closings.push(serving.close);
    const { port } = serving;
    const request = `GET /v1/about HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`;
    expect(await spoken(port, request)).toBe('HTTP/1.1 200 OK');
    expect(await spoken(port, request, address?.address)).toBe('HTTP/1.1 401 Unauthorized');
  });
});

describe('the gateway of a folder', () => {
  test('is found while its owner lives, by whoever may read the folder [gateway.local]', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-gateway-'));
    closings.push(() => rmSync(folder, { recursive: true, force: true }));
    expect(await findLocalGateway(folder)).toBeUndefined();
    const ownership = acquireFolder(folder);
    closings.push(() => ownership.release());
    const { client, about, ready } = options();
    const gateway = await openLocalGateway({ ownership, client, about, ready });
    closings.push(() => gateway.close());
    const found = await findLocalGateway(folder);
    expect(found).toEqual({ url: gateway.url, token: gateway.token });
    expect(gateway.token).toMatch(/^[\w-]{43}$/);
    if (process.platform !== 'win32') expect(statSync(join(folder, 'dev.json')).mode & 0o777).toBe(0o600);
    expect(await new GatewayClient(gateway).about()).toEqual(ABOUT);
    await gateway.close();
    expect(await findLocalGateway(folder)).toBeUndefined();
    // What a killed process leaves behind.
    writeDevEntry(folder, 'gateway', { url: gateway.url, token: gateway.token, pid: process.pid });
    expect(await findLocalGateway(folder)).toBeUndefined();
    const other = await openLocalGateway({ ownership, client, about, ready });
    // Services that call back about jobs have its address.
    expect(other.url).toBe(gateway.url);
    closings.push(() => other.close());
    writeDevEntry(folder, 'gateway', { url: other.url, token: gateway.token, pid: process.pid });
    expect(await findLocalGateway(folder)).toBeUndefined();
    writeDevEntry(folder, 'gateway', { url: other.url, token: other.token, pid: 1 });
    expect(await findLocalGateway(folder)).toBeUndefined();
    writeFileSync(join(folder, 'dev.json'), 'scribble');
    await expect(other.close()).rejects.toMatchObject({ code: 'HOLDFAST_FOLDER_UNUSABLE' });
    await expect(new GatewayClient(other).about()).rejects.toThrow('ECONNREFUSED');
    rmSync(join(folder, 'dev.json'));
  });
});
