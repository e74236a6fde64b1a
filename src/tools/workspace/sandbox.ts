import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { homedir, constants as os, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { isRecord } from '../../protocol/json.ts';
import type { Duration } from '../../schema/duration.ts';
import { assertInstalled } from '../../schema/installed-package.ts';
import * as option from '../../schema/option-kinds.ts';
import { type OptionsFor, type Resolved, readGroup } from '../../schema/options.ts';
import { ToolError } from '../tool-error.ts';
import { bubblewrapArgv, isBelow, PROXY_FOLDER, SANDBOX_PATH } from './bubblewrap.ts';
import { PROXY_SOCKET, startHostProxy } from './host-proxy.ts';
import { type ProgramEnd, runProgram } from './run-program.ts';
import { runSimulated } from './simulated-shell.ts';
import { usageWatch } from './usage.ts';

/** Limits of one command, with all that it starts. */
export interface SandboxLimits {
  /**
   * Seconds of a processor, of each process.
   *
   * @default 300
   */
  cpu?: number;
  /**
   * Bytes.
   *
   * @default 2 GiB
   */
  memory?: number;
  /**
   * Processes and their threads.
   *
   * @default 256
   */
  processes?: number;
  /**
   * Bytes below the root folder. A quarter of it is the temporary folder's.
   *
   * @default 2 GiB
   */
  disk?: number;
  /**
   * Longest run.
   *
   * @default 2 minutes
   * @format milliseconds, or text like `'90s'`
   */
  time?: Duration;
}

/** The sandbox of commands. */
export interface SandboxOptions {
  /**
   * If bubblewrap can't run, commands are refused, or run by `just-bash`, a shell in the worker's process that has no
   * programs of the machine.
   *
   * @default 'refuse'
   */
  fallback?: 'refuse' | 'just-bash';
  /**
   * Hosts that commands reach by HTTPS, such as `registry.npmjs.org`. One with a port, `npm.corp:8443`, may be anywhere.
   *
   * @default none
   */
  network?: readonly string[];
  /**
   * Variables of commands beside PATH, HOME, LANG and TMPDIR: their values, or `true` for the worker's value.
   *
   * @default none
   */
  env?: Readonly<Record<string, string | true>>;
  /**
   * Absolute paths of the machine that commands read, beside its programs and libraries.
   *
   * @default none
   */
  readable?: readonly string[];
  limits?: SandboxLimits;
}

const GIB = 1024 ** 3;

const LIMITS = {
  cpu: option.count(300),
  memory: option.count(2 * GIB),
  processes: option.count(256),
  disk: option.count(2 * GIB),
  time: option.duration(120_000),
} satisfies OptionsFor<SandboxLimits>;

const HOST = /^[a-z\d](?:[a-z\d.-]*[a-z\d])?(?::\d{1,5})?$/;
const VARIABLE = /^[A-Za-z_]\w*$/;

const isListOf = (fits: (text: string) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string' && fits(each));

const SANDBOX_OPTIONS = {
  fallback: option.choice(['refuse', 'just-bash'], 'refuse'),
  network: option.own<readonly string[], readonly string[]>(
    isListOf((host) => HOST.test(host)),
    "a list of hosts in lower case, like ['registry.npmjs.org']",
    [],
  ),
  env: option.own<Readonly<Record<string, string | true>>, Readonly<Record<string, string | true>>>(
    (env) =>
      isRecord(env) &&
      Object.entries(env).every(
        ([name, value]) => VARIABLE.test(name) && (typeof value === 'string' || value === true),
      ),
    'an object of texts, or true, by names of variables',
    {},
  ),
  readable: option.own<readonly string[], readonly string[]>(
    isListOf(isAbsolute),
    'a list of absolute paths',
    [],
  ),
  limits: option.group((owner, field, options = {}) => readGroup(LIMITS, { owner, options, field })),
} satisfies OptionsFor<SandboxOptions>;

/** On tools and code executors that have a sandbox. */
export const SANDBOX: unique symbol = Symbol.for('holdfast.sandbox');

export interface SandboxedRun {
  argv: readonly [string, ...string[]];
  root: string;
  /** Path of the root in the sandbox. */
  inside?: string;
  /** The folder in which the command runs, below the root. */
  folder?: string;
  /** The root folder is Holdfast's own: a worker that is root may give it to another user. */
  ownsRoot: boolean;
  /** Milliseconds. Defaults to `limits.time`. */
  timeout?: number;
  abortSignal: AbortSignal | undefined;
  mostOutput?: number;
  onOutput?: (piece: Buffer) => void;
}

/** Path of the root folder in the sandbox. */
const INSIDE = '/workspace';
const MOST_OUTPUT = 256 * 1024;
/** User of commands of a worker that is root, if the root folder is nobody else's. */
const NOBODY = 65_533;

/** Runs commands in the wall that is in force on this machine. */
export class Sandbox {
  readonly options: Resolved<typeof SANDBOX_OPTIONS>;

  /** @throws DefinitionError naming the option, or the package to install. */
  constructor(owner: string, options: unknown = {}, field = 'sandbox') {
    this.options = readGroup(SANDBOX_OPTIONS, { owner, options, field });
    if (this.options.fallback === 'just-bash') assertInstalled(owner, 'just-bash');
  }

  /** The facts on which an approval relies; no values of variables. */
  get terms(): Record<string, unknown> {
    const { env, limits: _, ...terms } = this.options;
    return { ...terms, env: Object.keys(env).sort() };
  }

  /** The name of the wall, for people. @throws HOLDFAST_NO_SANDBOX */
  async wall(): Promise<string> {
    const found = await bubblewrapHere();
    if ('path' in found) return `bubblewrap (${found.path})`;
    if (this.options.fallback === 'just-bash') return `just-bash, since ${found.problem}`;
    throw new ToolError(`this machine has no sandbox, and no command runs: ${found.problem}`, {
      code: 'HOLDFAST_NO_SANDBOX',
      retryable: false,
    });
  }

  /**
   * Runs a command to its end, and ends all that it has started.
   *
   * @throws HOLDFAST_NO_SANDBOX, or the signal's reason.
   */
  async run(command: SandboxedRun): Promise<ProgramEnd> {
    await this.wall();
    const { limits } = this.options;
    const root = await realpath(command.root);
    assertRoot(root);
    const { inside = INSIDE, folder = '.', timeout = limits.time, mostOutput = MOST_OUTPUT } = command;
    const full = { ...command, root, inside, folder, timeout, mostOutput };
    const found = await bubblewrapHere();
    if ('path' in found) return await this.#walled(found.path, full);
    const directory = resolve(inside, folder);
    return await runSimulated({ ...full, directory, env: this.#variables() });
  }

  async #walled(
    bwrap: string,
    run: SandboxedRun & Required<Pick<SandboxedRun, 'inside' | 'folder' | 'timeout'>>,
  ) {
    const { limits, network, readable } = this.options;
    const { root, inside, folder, ownsRoot, ...program } = run;
    const owner = await ownerOf(root, ownsRoot);
    const proxy = network.length === 0 ? undefined : await startHostProxy(network, owner);
    try {
      const terms = { root, inside, readable, temporary: Math.ceil(limits.disk / 4), owner };
      const [command, ...args] = bubblewrapArgv(bwrap, { ...terms, proxy: proxy?.folder }, [
        ...['/bin/sh', '-c', proxy === undefined ? scriptOf(limits) : PROXIED + scriptOf(limits), 'sh'],
        ...[folder, ...run.argv],
      ]);
      const env = { ...this.#variables(), ...(proxy === undefined ? {} : PROXY_VARIABLES) };
      const watch = usageWatch(limits, root);
      return withSignal(await runProgram({ ...program, command, args, directory: '/', env, watch }));
    } finally {
      await proxy?.close();
    }
  }

  #variables(): Record<string, string> {
    const { LANG = 'C.UTF-8' } = process.env;
    const named = Object.entries(this.options.env).flatMap(([name, value]) => {
      const text = value === true ? process.env[name] : value;
      return text === undefined ? [] : [[name, text] as const];
    });
    return { PATH: SANDBOX_PATH, HOME: '/tmp', TMPDIR: '/tmp', LANG, ...Object.fromEntries(named) };
  }
}

/** The sandbox of a tool or a code executor; undefined for one without. */
export function sandboxOf(value: object): Sandbox | undefined {
  return SANDBOX in value ? (value[SANDBOX] as Sandbox) : undefined;
}

/**
 * Limits of each process. A shell's `-u` is another one's `-p`. V8 reserves more memory than it uses: what all use together is watched.
 */
function scriptOf({ cpu, memory, processes, disk }: Resolved<typeof LIMITS>): string {
  return `
ulimit -c 0; ulimit -t ${cpu}; ulimit -d ${Math.ceil((memory + GIB) / 1024)}; ulimit -f ${Math.ceil(disk / 512)}
ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}
cd -- "$1" || exit 126
shift
command -v -- "$1" >/dev/null || { printf 'no program %s in the sandbox\\n' "$1" >&2; exit 127; }
exec "$@"`;
}

const PROXY_PORT = 3128;
/** A program that starts before the proxy is there would find no network. */
const PROXIED = `
socat TCP-LISTEN:${PROXY_PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${PROXY_FOLDER}/${PROXY_SOCKET} 2>/dev/null &
until grep -q :${PROXY_PORT.toString(16).toUpperCase().padStart(4, '0')} /proc/net/tcp; do kill -0 $! || exit 125; done`;
const PROXY_VARIABLES = {
  ...Object.fromEntries(
    ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map((name) => [
      name,
      `http://127.0.0.1:${PROXY_PORT}`,
    ]),
  ),
  NODE_USE_ENV_PROXY: '1',
};

const SIGNALS = new Map(Object.entries(os.signals).map(([name, number]) => [128 + number, name]));

/** Bubblewrap ends as a shell does: with 128 and the number of the signal. */
function withSignal(end: ProgramEnd): ProgramEnd {
  const signal = end.exitCode === undefined ? undefined : SIGNALS.get(end.exitCode);
  return signal === undefined ? end : { ...end, signal };
}

/** A folder above the home folder, or one with the files of all, is no root of commands. */
function assertRoot(root: string): void {
  const home = homedir();
  const isWide = root === '/' || root === tmpdir() || root === '/tmp' || root === home || isBelow(root, home);
  if (!isWide) return;
  throw new ToolError(`${root} can't be the root folder of commands: name a folder of their own`, {
    retryable: false,
  });
}

async function ownerOf(root: string, ownsRoot: boolean) {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(root);
  if (uid !== 0 && (uid !== NOBODY || !ownsRoot)) return { uid, gid, takesRoot: false };
  if (ownsRoot) return { uid: NOBODY, gid: NOBODY, takesRoot: true };
  throw new ToolError(
    `${root} belongs to root, and so does the worker: run the worker as another user, or give the folder to one`,
    { retryable: false },
  );
}

type Found = { path: string } | { problem: string };

const found = new Map<string, Promise<Found>>();

/** Bubblewrap if it works here, by a command that has run in it; asked once for each PATH. */
export function bubblewrapHere(): Promise<Found> {
  const { PATH = '' } = process.env;
  const known = found.get(PATH) ?? probe(PATH);
  found.set(PATH, known);
  return known;
}

async function probe(path: string): Promise<Found> {
  if (process.platform !== 'linux') return { problem: 'bubblewrap is there on Linux only' };
  const bwrap = path
    .split(delimiter)
    .map((folder) => join(folder, 'bwrap'))
    .find((each) => existsSync(each));
  if (bwrap === undefined)
    return { problem: 'there is no bwrap on the PATH; install the package bubblewrap' };
  const root = await mkdtemp(join(tmpdir(), 'holdfast-probe-'));
  try {
    const owner = await ownerOf(root, true);
    const terms = { root, inside: INSIDE, readable: [], temporary: GIB, proxy: undefined, owner };
    const test = `echo x > file && ! (echo x > /x) 2>/dev/null && echo held`;
    const [command, ...args] = bubblewrapArgv(bwrap, terms, ['/bin/sh', '-c', test]);
    const { stdout, stderr, error } = await runProgram({
      ...{ command, args, directory: '/', timeout: 10_000, abortSignal: undefined },
    });
    if (stdout === 'held\n') return { path: bwrap };
    const said = (error?.message ?? stderr).trim().split('\n', 1)[0] || 'it did not run a command';
    return { problem: `${bwrap} can't make one: ${said}` };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
