import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { freePort } from './free-port.ts';
import { folderOf, type PostgresServer, unprivileged } from './postgres-server.ts';

/** Installed where an ordinary user's PATH doesn't lead. */
const FOLDERS = ['/usr/sbin', '/usr/local/sbin'];

export interface PgBouncerProgram {
  path: string;
  /** Whether it keeps track of prepared statements in transaction mode, as from 1.21 on. */
  tracksStatements: boolean;
  version: string;
}

/** The PgBouncer of this system, where it has one. */
export function findPgBouncer(): PgBouncerProgram | undefined {
  const path = [...(process.env.PATH ?? '').split(delimiter), ...FOLDERS]
    .map((folder) => join(folder, 'pgbouncer'))
    .find((file) => existsSync(file));
  if (path === undefined) return undefined;
  const [, version = '', major, minor] =
    /PgBouncer ((\d+)\.(\d+)\S*)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' })) ?? [];
  return { path, version, tracksStatements: Number(major) > 1 || Number(minor) >= 21 };
}

export interface PgBouncer {
  /** The URL of a database of its server, through it. */
  urlOf(database: string): string;
  close(): Promise<void>;
}

/** Starts one in transaction mode in front of `server`, with fewer connections to it than a store's pool has. */
export async function startPgBouncer(
  program: PgBouncerProgram,
  server: PostgresServer,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<PgBouncer> {
  const owner = unprivileged();
  const folder = folderOf(owner);
  const port = await freePort();
  const users = join(folder, 'users.txt');
  const configuration = join(folder, 'pgbouncer.ini');
  writeFileSync(users, `"${server.user}" "${server.password}"\n`);
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: users,
    pool_mode: 'transaction',
    default_pool_size: 3,
    max_client_conn: 500,
    // Seconds; by default it refuses everybody for 15 after the server was away.
    server_login_retry: 1,
    ...settings,
  };
  writeFileSync(
    configuration,
    [
      '[databases]',
      `* = host=127.0.0.1 port=${server.port}`,
      '[pgbouncer]',
      ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
    ].join('\n'),
  );
  const bouncer = spawn(program.path, [configuration], {
    ...owner,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(bouncer, 'exit');
  const endWithTests = () => bouncer.kill('SIGKILL');
  process.once('exit', endWithTests);
  let log = '';
  await new Promise<void>((ready, failed) => {
    bouncer.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-20_000);
      if (log.includes('process up')) ready();
    });
    ended.then(() => failed(new Error(`PgBouncer ended at its start:\n${log}`)), failed);
  });
  return {
    urlOf: (database) => `postgres://${server.user}:${server.password}@127.0.0.1:${port}/${database}`,
    close: async () => {
      bouncer.kill('SIGKILL');
      await ended;
      process.off('exit', endWithTests);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
