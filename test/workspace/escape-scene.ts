import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { homedir, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { hideFromCommands } from '../../src/tools/workspace/bubblewrap.ts';
import { runProgram } from '../../src/tools/workspace/run-program.ts';
import { Sandbox, type SandboxLimits } from '../../src/tools/workspace/sandbox.ts';

/** Places of the machine that are no command's. */
const PLACES = [
  ...[
    '/',
    '/etc',
    '/usr/local/bin',
    '/usr/bin',
    '/var/tmp',
    '/run',
    '/opt',
    '/dev',
    '/dev/shm',
    '/sys',
    '/etc/cron.d',
  ],
  ...[tmpdir(), '/tmp', homedir(), process.cwd(), join(process.cwd(), '.git/hooks')],
];

/** The payload: it tries to write everywhere, to read what is secret, and to reach the worker. */
const PAYLOAD = `#!/bin/sh
touch /workspace/ran
for place in $PLACES $OUT $OTHER; do
  touch "$place/$MARK"; mkdir "$place/$MARK"; ln -s /etc/passwd "$place/$MARK"
done
cat $OUT/secret $OTHER/secret $HIDDEN/secret /proc/$WORKER/environ /proc/$WORKER/root$OUT/secret /proc/$WORKER/cwd/package.json
env
bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo x >&3"
kill -9 $WORKER
exit 0
`;

export interface Effects {
  /** Connections that came at listeners of the worker. */
  connections: number;
  /** Files outside of the root. */
  written: string[];
  /** Processes that run on. */
  running: string[];
  leaked: boolean;
}

/** A worker's surroundings, with secrets, ports and sockets that a command would like to reach. */
export class EscapeScene {
  readonly canary = `canary-${randomUUID()}`;
  readonly outside = mkdtempSync(join(tmpdir(), 'holdfast-outside-'));
  readonly other = mkdtempSync(join(tmpdir(), 'holdfast-other-'));
  readonly hidden = mkdtempSync(join(tmpdir(), 'holdfast-hidden-'));
  readonly #servers: Server[] = [];
  readonly #udp: UdpSocket = createSocket('udp4');
  #env: Record<string, string> = {};
  connections = 0;

  async open(): Promise<this> {
    for (const folder of [this.outside, this.other, this.hidden]) {
      writeFileSync(join(folder, 'secret'), this.canary, { mode: 0o644 });
    }
    hideFromCommands(this.hidden);
    process.env.HOLDFAST_TEST_CANARY = this.canary;
    const abstract = `holdfast-${randomUUID()}`;
    const socket = join(this.outside, 'socket');
    const tcp = await this.#listen({ host: '0.0.0.0', port: 0 });
    await this.#listen({ path: socket });
    await this.#listen({ path: `\0${abstract}` });
    this.#udp.on('message', () => (this.connections += 1));
    await new Promise<void>((resolve) => this.#udp.bind(0, '0.0.0.0', resolve));
    const lan = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === 'IPv4' && !each.internal);
    this.#env = {
      PLACES: PLACES.join(' '),
      OUT: this.outside,
      OTHER: this.other,
      HIDDEN: this.hidden,
      WORKER: String(process.pid),
      PORT: String(tcp),
      UDP: String(this.#udp.address().port),
      LAN: lan?.address ?? '127.0.0.1',
      SOCKET: socket,
      ABSTRACT: abstract,
    };
    return this;
  }

  async #listen(place: { host: string; port: number } | { path: string }): Promise<number> {
    const server = createServer((socket) => {
      this.connections += 1;
      socket
        .on('error', () => undefined)
        .resume()
        .end();
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(place, resolve));
    const address = server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Runs a line in a root folder that has the payload, and looks for its effects. */
  async run(line: string, limits: SandboxLimits = {}) {
    const root = mkdtempSync(join(tmpdir(), 'holdfast-root-'));
    const mark = `mark-${randomUUID()}`;
    writeFileSync(join(root, 'p.sh'), PAYLOAD, { mode: 0o755 });
    const sandbox = new Sandbox('test', {
      env: { ...this.#env, MARK: mark },
      limits: { memory: 600_000_000, processes: 64, disk: 64_000_000, ...limits, time: limits.time ?? '8s' },
    });
    const argv = ['bash', '-c', line] as const;
    const end = await sandbox.run({ argv: [...argv], root, ownsRoot: true, abortSignal: undefined });
    const said = end.stdout + end.stderr;
    const effects = this.#effects(mark, said);
    const ran = existsSync(join(root, 'ran'));
    rmSync(root, { recursive: true, force: true });
    return { effects, ran, said, end };
  }

  /** The same payload without a wall, with less to write to. */
  async runFree(): Promise<Effects> {
    const sleeper = spawn('sleep', ['60']);
    const mark = `mark-${randomUUID()}`;
    const { stdout, stderr } = await runProgram({
      ...{
        command: '/bin/sh',
        args: ['-c', PAYLOAD],
        directory: '/',
        timeout: 20_000,
        abortSignal: undefined,
      },
      env: { ...process.env, ...this.#env, PLACES: '', MARK: mark, WORKER: String(sleeper.pid) },
    });
    const effects = this.#effects(mark, stdout + stderr);
    for (const folder of [this.outside, this.other]) rmSync(join(folder, mark));
    return effects;
  }

  #effects(mark: string, said: string): Effects {
    return {
      connections: this.connections,
      written: [...PLACES, this.outside, this.other, this.hidden].filter((place) =>
        existsSync(join(place, mark)),
      ),
      running: commandLines().filter((each) => each.includes(mark)),
      leaked: said.includes(this.canary),
    };
  }

  /** Things that must be as they were: lists of folders, the machine's devices and settings. */
  surroundings(): unknown {
    const { mode, uid } = statSync('/dev/null');
    const kernel = ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/etc/passwd'];
    const folders = [this.outside, this.other, this.hidden].map((folder) => readdirSync(folder));
    return { mode, uid, folders, kernel: kernel.map((path) => readFileSync(path, 'utf8')) };
  }

  get env(): Readonly<Record<string, string>> {
    return this.#env;
  }

  async close(): Promise<void> {
    delete process.env.HOLDFAST_TEST_CANARY;
    this.#udp.close();
    for (const server of this.#servers) await new Promise((resolve) => server.close(resolve));
    for (const folder of [this.outside, this.other, this.hidden])
      rmSync(folder, { recursive: true, force: true });
  }
}

export function commandLines(): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')] : [];
    } catch {
      return [];
    }
  });
}
