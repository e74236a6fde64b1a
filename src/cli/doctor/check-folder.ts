import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readLockOwner } from '../../../worker/folder/exclusive.ts';
import { findLocalGateway } from '../../../worker/local-gateway.ts';
import { namesServer } from '../../../worker/temporal/client-config.ts';
import { isRecord } from '../../protocol/json.ts';
import { type Finding, findingsAbout, problemOf, type Surroundings } from './finding.ts';

const { fail, failed, ok, warn } = findingsAbout('folder');
const disk = findingsAbout('disk');

const GIB = 2 ** 30;
const LOW_SPACE = GIB;
const NO_SPACE = GIB / 10;

/** Bits of a file's mode by which others than its owner may read, write or run it. */
const OTHERS = 0o077;

export async function checkFolder({ folder, env }: Surroundings): Promise<Finding[]> {
  const path = resolve(folder);
  if (env.HOLDFAST_STORE && namesServer(env)) {
    return ok('not used: store and Temporal server are named by the environment');
  }
  if (!existsSync(path)) return ok(`${path} is not there yet: the first command makes it`);
  if (!statSync(path).isDirectory()) {
    return fail(`${path} is a file`, 'name another folder with --folder, or remove the file');
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return failed(error, `give this user the right to write to ${path}, or name another folder`);
  }
  return [...checkModes(path), ...checkDevFile(path), ...(await checkOwner(path))];
}

function checkModes(path: string): Finding[] {
  if (process.platform === 'win32') return [];
  const open = [path, join(path, 'dev.json')].filter(
    (each) => existsSync(each) && (statSync(each).mode & OTHERS) !== 0,
  );
  if (open.length === 0) return [];
  const commands = open.map((each) => `chmod ${each === path ? 700 : 600} ${each}`);
  return warn(
    `${open.join(' and ')} can be read by other users: the token of the gateway and the transcripts are in there`,
    commands.join(' && '),
  );
}

function checkDevFile(path: string): Finding[] {
  const file = join(path, 'dev.json');
  if (!existsSync(file)) return [];
  try {
    if (isRecord(JSON.parse(readFileSync(file, 'utf8')))) return [];
  } catch (error) {
    if (!(error instanceof SyntaxError)) return failed(error, `make ${file} readable`);
  }
  return fail(
    `${file} is not a JSON object`,
    'delete it, and stop what was started from this folder: holdfast stop',
  );
}

async function checkOwner(path: string): Promise<Finding[]> {
  try {
    const owner = readLockOwner(join(path, 'owner.json'));
    if (owner === undefined) return ok(`${path}, in use by nobody`);
    const used = `${path}, in use by process ${owner.pid} since ${owner.since}`;
    if ((await findLocalGateway(path)) !== undefined) return ok(`${used}, whose gateway answers`);
    return warn(
      `${used}, whose gateway doesn't answer: other commands can't use this folder meanwhile`,
      'wait until it has started or ended; if it hangs, end that process',
    );
  } catch (error) {
    return fail(
      `${join(path, 'owner.json')} can't be read: ${problemOf(error)}`,
      'delete that file; the lock itself is elsewhere',
    );
  }
}

/** @param freeBytes what is left to this user on the disk of the nearest folder that is there. */
export async function checkDisk(
  { folder, env }: Surroundings,
  freeBytes: (path: string) => Promise<number> = freeBytesAt,
): Promise<Finding[]> {
  if (env.HOLDFAST_STORE && namesServer(env)) return [];
  let path = resolve(folder);
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  const free = await freeBytes(path);
  const shown = `${(free / GIB).toFixed(1)} GiB free at ${path}`;
  if (free >= LOW_SPACE) return disk.ok(shown);
  const fix = 'free some space, or name a folder on another disk with --folder';
  return free < NO_SPACE ? disk.fail(shown, fix) : disk.warn(shown, fix);
}

async function freeBytesAt(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
