import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { freePort } from '../setup/free-port.ts';

const SECRET = 's3cret-of-ada';

async function failureOf(url: string): Promise<Error> {
  return await openStore({ url }).then(
    () => expect.fail('it opened'),
    (error: unknown) => error as Error,
  );
}

test.each([
  `mysql://ada:${SECRET}@localhost/shop`,
  `${SECRET}`,
  '',
  `postgres://ada:${SECRET}%zz@localhost:port/shop`,
  `postgres://ada:${SECRET}@host:99999/shop`,
])('an address that is no URL of PostgreSQL is refused without being echoed (%#)', async (url) => {
  const error = await failureOf(url);
  expect(error).toMatchObject({ code: 'HOLDFAST_INVALID_STORE_URL', retryable: false });
  expect(error.message).toContain('postgres://user:password@host:5432/database');
  expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
});

test('a server that is down is named by host and database, never by its password [store.unavailable]', async () => {
  const port = await freePort();
  const error = await failureOf(`postgres://ada:${SECRET}@127.0.0.1:${port}/shop`);
  expect(error).toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE', retryable: true });
  expect(error.message).toContain(`127.0.0.1:${port}`);
  expect(error.message).toContain('shop');
  expect(error.message).toContain('ECONNREFUSED');
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET);
});

test('something that is not PostgreSQL is unavailable', async () => {
  const server = createServer((socket) => socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number };
  const error = await failureOf(`postgres://ada:${SECRET}@127.0.0.1:${port}/shop`);
  expect(error).toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE' });
  await new Promise((closed) => server.close(closed));
});
