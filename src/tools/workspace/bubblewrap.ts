import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

/** Programs and libraries of the machine. Its other folders may hold what is nobody's business. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
const SETTINGS = [
  ...['alternatives', 'ca-certificates', 'fonts', 'java', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d'],
  ...['group', 'hosts', 'localtime', 'magic', 'mime.types', 'nsswitch.conf', 'passwd', 'pki', 'protocols'],
  ...['python3', 'services', 'ssl', 'terminfo', 'timezone'],
].map((name) => join('/etc', name));
/** Bytes of memory that a folder of shared memory may fill. */
const SHARED_MEMORY = 64 * 1024 * 1024;

export interface WallTerms {
  /** Folder of the machine that commands write to. */
  root: string;
  /** Its path in the sandbox. */
  inside: string;
  /** Further folders and files of the machine that are read, under their own paths. */
  readable: readonly string[];
  /** Bytes that the temporary folder of the command holds. */
  temporary: number;
  /** Folder with a proxy's socket. */
  proxy: string | undefined;
  /** Owner of the root folder; undefined in a worker that can't become another user. */
  owner: { uid: number; gid: number; takesRoot: boolean } | undefined;
}

/** Folders in sight of commands that they must not read: a worker's own, for one. */
const hidden = new Set<string>();

/** Keeps a folder out of sight of all commands, wherever it is. */
export function hideFromCommands(folder: string): void {
  hidden.add(resolve(folder));
}

/**
 * The argv that runs `argv` in bubblewrap: namespaces of its own for users, processes, network and the rest; no capability; a tree of
 * files that is empty but for what is named here, and that can be written below the root and in a temporary folder only. All processes end
 * with the first one, and with the worker.
 */
export function bubblewrapArgv(
  bwrap: string,
  terms: WallTerms,
  argv: readonly string[],
): [string, ...string[]] {
  const { root, inside, proxy, owner } = terms;
  const sources: string[] = [];
  const place = (source: string): string => {
    sources.push(source);
    return owner === undefined ? source : `${placeFor(root)}/${sources.length - 1}`;
  };
  const writable = ['--bind', place(root), inside];
  const node = realpathSync(process.execPath);
  const further = [node, ...terms.readable].flatMap((path) => ['--ro-bind', place(path), path]);
  const all = [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session'],
    ...['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    ...SYSTEM.flatMap(systemFolder),
    ...SETTINGS.flatMap((path) => ['--ro-bind-try', path, path]),
    // Nothing of the kernel is set, by root neither.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...['--size', String(SHARED_MEMORY), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--size', String(terms.temporary), '--tmpfs', '/tmp'],
    // Apps are installed below /usr, too, with their settings.
    ...[homedir(), process.cwd()].flatMap((path) => (isBelow('/usr', path) ? ['--tmpfs', path] : [])),
    ...further,
    ...terms.readable.flatMap((path) => coverOf(path, path)),
    ...writable,
    ...coverOf(root, inside),
    ...(proxy === undefined ? [] : ['--ro-bind', place(proxy), PROXY_FOLDER]),
    ...['--remount-ro', '/', '--chdir', inside, '--', ...argv],
  ];
  if (owner === undefined) return [bwrap, ...all];
  const { uid, gid, takesRoot } = owner;
  const given = [uid, gid, takesRoot ? 1 : 0, placeFor(root)].map(String);
  return [
    'unshare',
    '--mount',
    '--',
    '/bin/sh',
    '-c',
    AS_OWNER,
    'sh',
    ...given,
    ...sources,
    '--',
    bwrap,
    ...all,
  ];
}

/** Folder of the proxy's socket in the sandbox. */
export const PROXY_FOLDER = '/run/proxy';

/**
 * Root owns the machine's devices and settings, with or without capabilities, and the kernel doesn't count its processes. So commands of a
 * worker that is root run as another user, who sees the folders wherever they are.
 */
const AS_OWNER = `
uid=$1 gid=$2 takes=$3 at=$4; shift 4
mount -t tmpfs -o mode=755 tmpfs "$at" || exit 125
n=0
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir "$at/$n"; else : > "$at/$n"; fi
  mount --bind -- "$1" "$at/$n" || exit 125
  n=$((n + 1)); shift
done
shift
if [ "$takes" = 1 ]; then chown -Rh "$uid:$gid" "$at/0" || exit 125; fi
exec setpriv --reuid "$uid" --regid "$gid" --clear-groups -- "$@"`;

function placeFor(root: string): string {
  return isBelow('/mnt', root) ? '/media' : '/mnt';
}

function systemFolder(path: string): string[] {
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink()
    ? ['--symlink', readlinkSync(path), path]
    : ['--ro-bind', path, path];
}

/** Covers hidden folders of a folder that is in sight. */
function coverOf(folder: string, inside: string): string[] {
  return [...hidden, join(folder, '.holdfast')]
    .filter((path) => isBelow(folder, path) && existsSync(path))
    .map((path) => join(inside, relative(folder, realpathSync(path))))
    .flatMap((path) => ['--tmpfs', path, '--remount-ro', path]);
}

/** Places of programs in the sandbox. */
export const SANDBOX_PATH = [
  dirname(realpathSync(process.execPath)),
  ...['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'],
].join(':');

export function isBelow(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}
