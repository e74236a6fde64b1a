import { spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { guardedFetch } from '../../src/net/guarded-fetch.ts';
import { outliveErrors } from '../../src/net/outlive-errors.ts';
import { LiveNotices } from '../../src/store/live/live-notices.ts';

const programOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const node = [process.execPath, '--disable-warning=ExperimentalWarning'];

/** Linux gives a process a network without any route. */
const unsharing = [
  ['unshare', '-n'],
  ['unshare', '-r', '-n'],
].find(([program = '', ...options]) => spawnSync(program, [...options, 'true']).status === 0);

function ran(command: readonly string[]): { status: number | null; lines: string[]; said: string } {
  const [program = '', ...args] = command;
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { status, lines: stdout.trim().split('\n'), said: stderr };
}

/**
 * Streams of files are read by `for await` or by `pipeline`; the pool is heard by `Database`; lines are read in a try block; `once` hears a server. A template is
 * the text of a user's program.
 */
const HEARD_ELSEWHERE = [
  'src/artifacts/folder-bucket.ts',
  'src/cli/artifacts/artifact-commands.ts',
  'src/cli/init/template-openapi.ts',
  'src/store/engine/open-pool.ts',
  'src/tools/workspace/file-search.ts',
  'src/tools/workspace/snapshot.ts',
  'src/tools/workspace/workspace-files.ts',
  'src/tools/workspace/workspace.ts',
  'worker/embedded/ending-process.ts',
];

const failed = (address: string) => [`https ${address} FetchFailed`, `http ${address} FetchFailed`];

test('an address without a route fails its request, and ends no process [process.uncaught]', ({ skip }) => {
  skip(unsharing === undefined, 'no network of its own can be made here (unshare -n)');
  const addresses = ['1.1.1.1', '10.1.2.3', '2606:4700::1111', 'fd12::1'];
  const program = [...node, programOf('failing-at-once-program.ts'), ...addresses];
  expect(ran([...(unsharing ?? []), ...program])).toEqual({
    status: 0,
    lines: addresses.flatMap(failed),
    said: '',
  });
});

test('so does one of IPv6 where that leads nowhere [process.uncaught]', () => {
  const program = [...node, programOf('failing-at-once-program.ts'), 'fd12:3456::1'];
  expect(ran(program)).toEqual({ status: 0, lines: failed('fd12:3456::1'), said: '' });
});

test.skipIf(process.platform === 'win32')(
  'programs that can not be started for want of files fail, and end no process [process.uncaught]',
  () => {
    const limited = ['bash', '-c', 'ulimit -n 64; exec "$@"', 'bash'];
    expect(ran([...limited, ...node, programOf('out-of-files-program.ts')])).toEqual({
      status: 0,
      lines: ['EMFILE', 'Process error: spawn true EMFILE', 'spawn true EMFILE', 'goes on'],
      said: '',
    });
  },
);

test('each source that makes something which tells of errors hears them [process.uncaught]', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const makes =
    /\b(createServer|createConnection|createReadStream|createWriteStream|spawn|fork|createInterface|watch)\(|new (Socket|Worker|pg\.Pool)\(|(tls|plain)Request\(/;
  const brings = /from '(node:(net|https?|child_process|readline(\/promises)?|worker_threads|fs)|pg)'/;
  const unheard = ['src', 'activities', 'worker'].flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .map((path) => join(room, path))
      .filter((path) => path.endsWith('.ts'))
      .filter((path) => {
        const source = readFileSync(join(root, path), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
        return brings.test(source) && makes.test(source) && !/\.on\('error'|outliveErrors\(/.test(source);
      }),
  );
  expect(unheard.sort()).toEqual(HEARD_ELSEWHERE);
});

test.each([
  ['closes', ''],
  [
    'answers with another protocol',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
  ],
  ['answers nonsense', 'nonsense\r\n\r\n'],
  ['breaks off', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour'],
])('a server that %s fails its request at once [process.uncaught]', async (_how, answer) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const allow = [`127.0.0.1:${port}`];
  // Until its timeout it would wait for what does not come.
  const request = guardedFetch(`http://127.0.0.1:${port}/`, {}, { allow, timeout: 600_000 });
  await expect(request).rejects.toMatchObject({
    code: 'HOLDFAST_FETCH_FAILED',
  });
});

function warnings(): unknown[] {
  const told: unknown[] = [];
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void told.push(warning));
  onTestFinished(() => spy.mockRestore());
  return told;
}

test('a server outlives its errors, and the process is warned of them once a minute [process.uncaught]', () => {
  const told = warnings();
  const server = new EventEmitter();
  outliveErrors(server, 'the gateway');
  for (let n = 0; n < 3; n += 1) server.emit('error', new Error('accept EMFILE'));
  expect(told).toEqual(['the gateway: accept EMFILE']);
});

test('a listener of the store that throws fails nobody else, and ends no process [process.uncaught]', async () => {
  const told = warnings();
  const notices = new LiveNotices();
  const heard = Promise.withResolvers<string>();
  notices.onNotice(() => {
    throw new Error('a listener of somebody');
  });
  notices.onNotice(({ type }) => heard.resolve(type));
  notices.tell({ type: 'appended', session: 's', seq: 1 });
  expect(await heard.promise).toBe('appended');
  expect(told).toEqual([expect.objectContaining({ message: 'a listener of somebody' })]);
});
