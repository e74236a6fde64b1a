import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { shortDigest } from '../../protocol/identity.ts';
import { isRecord } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { assertInstalled } from '../../schema/installed-package.ts';
import * as option from '../../schema/option-kinds.ts';
import { type OptionsFor, type Resolved, readGroup } from '../../schema/options.ts';
import type { Context } from '../context.ts';
import { ToolError } from '../tool-error.ts';
import { type FolderState, packed, stateOf, unpack } from './snapshot.ts';
import { HeldFolder, unless, walk } from './workspace-files.ts';

export interface WorkspaceOptions {
  /**
   * Has a folder for each session. An absolute path; it belongs to the worker's user, and nobody else may write to it.
   *
   * @default `holdfast-workspaces-<user>` in the system's temporary folder
   */
  folder?: string;
  /**
   * Whether the files are kept as an artifact of the session, `workspace.tar.gz`, a version after each call that has changed them, so
   * that any worker goes on with them. Otherwise they stay on their worker, and the next call on another one tells which are lost.
   *
   * @default true
   */
  snapshots?: boolean;
  /**
   * Bytes of all files of a session. A call that leaves more fails.
   *
   * @default 67,108,864 (64 MiB)
   */
  maxBytes?: number;
}

const WORKSPACE = {
  folder: option.checked(option.text(), (path) =>
    isAbsolute(path) ? undefined : 'expected an absolute path',
  ),
  snapshots: option.flag(true),
  maxBytes: option.count(64 * 1024 * 1024),
} satisfies OptionsFor<WorkspaceOptions>;

/** A use of a workspace, beside its files. */
export interface WorkspaceUse {
  /** Paths of the files of earlier calls that are lost, 100 at most: they were on another worker. */
  lost: readonly string[];
}

/** Tells a model of files that are lost, in a result of its tool. */
export function lostFiles({ lost }: WorkspaceUse): { filesLost?: { note: string; files: string[] } } {
  if (lost.length === 0) return {};
  const note =
    'Another worker has gone on with this session. Files of earlier calls are lost: make them again.';
  return { filesLost: { note, files: lost.map((each) => visibleExcerpt(each, 200)) } };
}

/** The files of a session as its last recorded call has left them. */
interface Version {
  id: string;
  /** Their paths, if there are no snapshots. */
  files: readonly string[];
  bytes?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const MOST_LISTED = 100;
/** Milliseconds; the clock of a file system goes in shorter steps. */
const CLOCK_STEP = 20;
const LOCK_POLL = 10;

/**
 * Folders in which commands and file tools work, one for each session. Its files are those that the last successful call has left: a
 * call that fails, or loses its worker, changes nothing.
 *
 * @throws DefinitionError from the constructor, naming the option, or the package `tar-stream` where that is missing.
 * @example
 * const workspace = new Workspace();
 * const coder = new LlmAgent({ name: 'coder', model: 'gemini-2.5-flash', tools: fileTools({ workspace }) });
 */
export class Workspace {
  readonly #options: Resolved<typeof WORKSPACE>;
  readonly #folder: string;

  constructor(options: WorkspaceOptions = {}) {
    this.#options = readGroup(WORKSPACE, { owner: 'Workspace', options });
    if (!['linux', 'darwin'].includes(process.platform)) {
      throw new DefinitionError({ owner: 'Workspace', problem: 'needs Linux or macOS' });
    }
    if (this.#options.snapshots) assertInstalled('Workspace', 'tar-stream');
    this.#folder = this.#options.folder ?? join(tmpdir(), `holdfast-workspaces-${process.getuid?.()}`);
  }

  /**
   * Works in the folder of the context's session, with the files that earlier calls have left there. Other uses for the session wait. The
   * changes count once the outcome of the call is recorded.
   *
   * @param work gets the absolute path of the folder.
   * @throws ToolError HOLDFAST_SNAPSHOT_FAILED for files that can't be kept or restored; HOLDFAST_WORKSPACE_CHANGED (retryable) where an
   * agent that runs in parallel has changed files meanwhile.
   */
  async use<T>(context: Context, work: (root: string, use: WorkspaceUse) => Promise<T>): Promise<T> {
    const { appName, userId, session } = context.invocationContext;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = await lstat(this.#folder);
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0) {
      const problem = 'must belong to the user of the worker, and be writable by nobody else';
      throw new DefinitionError({ owner: 'Workspace', field: 'folder', problem });
    }
    const name = shortDigest(JSON.stringify([appName, userId, session.id]));
    const folder = join(await realpath(this.#folder), name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await alone(folder, context.abortSignal, async () => {
      const found = await this.#newest(context);
      const { id, lost, before } = await this.#prepare(folder, found);
      const result = await work(join(folder, 'root'), { lost });
      const after = await stateOf(join(folder, 'root'), this.#options.maxBytes);
      if (after.digest !== before || lost.length > 0) await this.#save(context, folder, { found, id, after });
      return result;
    });
  }

  /** The store says which files count: those of a call whose outcome isn't recorded are not there. */
  async #newest(context: Context): Promise<Version | undefined> {
    const { snapshots } = this.#options;
    const opened = await context.openArtifact(snapshots ? 'workspace.tar.gz' : 'workspace.json');
    if (opened?.bytes === undefined) return undefined;
    const { sha256, bytes } = opened;
    if (snapshots && sha256 !== undefined) return { id: sha256, files: [], bytes };
    const blocks = await Readable.from(bytes).toArray();
    const whole = Buffer.concat(blocks);
    if (snapshots) return { id: createHash('sha256').update(whole).digest('hex'), files: [], bytes: blocks };
    const { id, files } = listIn(whole.toString());
    return { id: String(id), files: Array.isArray(files) ? files.map(String).slice(0, MOST_LISTED) : [] };
  }

  /** Has the folder as the version has it. */
  async #prepare(folder: string, found: Version | undefined) {
    const { snapshots, maxBytes } = this.#options;
    const marker = await markerOf(folder);
    const state = await stateOf(join(folder, 'root'), maxBytes).catch(() => undefined);
    // A call that was cut off, or failed, has left a folder that isn't as its marker says.
    const isVersion = snapshots
      ? marker?.id === found?.id && marker?.digest === state?.digest
      : (found === undefined || marker?.id === found.id) && existsSync(join(folder, 'root'));
    if (marker !== undefined && isVersion) return { id: marker.id, lost: [], before: state?.digest };
    const id = snapshots ? found?.id : randomUUID();
    await renew(folder, found?.bytes, maxBytes);
    const { digest } = await stateOf(join(folder, 'root'), maxBytes);
    await mark(folder, { id, digest });
    return { id, lost: found?.files ?? [], before: digest };
  }

  async #save(
    context: Context,
    folder: string,
    { found, id, after }: { found: Version | undefined; id: string | undefined; after: FolderState },
  ): Promise<void> {
    if ((await this.#newest(context))?.id !== found?.id) {
      const problem =
        'another agent of the session has changed files of the workspace meanwhile; this call has changed none';
      throw new ToolError(problem, { code: 'HOLDFAST_WORKSPACE_CHANGED' });
    }
    if (!this.#options.snapshots) {
      const list = { id, files: after.files.slice(0, MOST_LISTED) };
      await context.saveArtifact('workspace.json', { text: JSON.stringify(list) });
      return;
    }
    const hash = createHash('sha256');
    const stream = (async function* () {
      for await (const block of packed(join(folder, 'root'))) {
        hash.update(block);
        yield block;
      }
    })();
    // A save that fails leaves the stream open, with files that it reads.
    const saved = context.saveArtifact('workspace.tar.gz', { stream, mimeType: 'application/gzip' });
    await saved.finally(() => stream.return());
    // A file that changes again within a step of the clock would look the same.
    await setTimeout(Math.min(Math.max(after.changedAt + CLOCK_STEP - Date.now(), 0), CLOCK_STEP));
    await mark(folder, { id: hash.digest('hex'), digest: after.digest });
  }
}

/** Anybody may have saved an artifact of the name. */
function listIn(text: string): Record<string, unknown> {
  try {
    const list: unknown = JSON.parse(text);
    return isRecord(list) ? list : {};
  } catch {
    return {};
  }
}

/** Puts another folder in the place of the root: with the files of an archive, or without any. */
async function renew(folder: string, bytes: Version['bytes'], maxBytes: number): Promise<void> {
  const at = (name: string) => join(folder, name);
  await remove(at('next'));
  await remove(at('old'));
  await mkdir(at('next'), { mode: 0o700 });
  if (bytes !== undefined) {
    // Read whole first: what the store says of a failure stays as it is.
    await writeFile(at('archive'), bytes);
    await unpack(createReadStream(at('archive')), at('next'), maxBytes);
    await rm(at('archive'));
  }
  await rm(at('marker.json'), { force: true });
  await rename(at('root'), at('old')).catch(unless('ENOENT'));
  await rename(at('next'), at('root'));
  await remove(at('old'));
}

/** The version that the folder has, and its state then. */
interface Marker {
  id?: string | undefined;
  digest: string;
}

/** A marker that can't be read is none. */
async function markerOf(folder: string): Promise<Marker | undefined> {
  return await readFile(join(folder, 'marker.json'), 'utf8')
    .then(JSON.parse)
    .catch(() => undefined);
}

async function mark(folder: string, marker: Marker): Promise<void> {
  await writeFile(join(folder, 'marker.next'), JSON.stringify(marker));
  await rename(join(folder, 'marker.next'), join(folder, 'marker.json'));
}

/** A command may have taken rights away, which walking gives back. */
async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(async () => {
    await chmod(path, 0o700);
    const held = await HeldFolder.open(path);
    for await (const _ of walk(held, Number.POSITIVE_INFINITY));
    await held.close();
    await rm(path, { recursive: true, force: true });
  });
}

const LAST = new Map<string, Promise<unknown>>();

/** One at a time for a folder, in the order of the calls. */
async function alone<T>(folder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const mine = (LAST.get(folder) ?? Promise.resolve()).then(() => locked(folder, signal, work));
  const ended: Promise<unknown> = mine
    .catch(() => undefined)
    .then(() => LAST.get(folder) === ended && LAST.delete(folder));
  LAST.set(folder, ended);
  return await mine;
}

/**
 * A late attempt may still be at work in another process of the machine. The lock is a name of Linux that goes with its process, however
 * that ends.
 */
async function locked<T>(folder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  if (process.platform !== 'linux') return await work();
  const server = createServer((socket) => socket.destroy());
  for (let isOurs = false; !isOurs; ) {
    server.listen(`\0holdfast-workspace-${shortDigest(folder)}`);
    isOurs = (await once(server, 'listening').catch(unless('EADDRINUSE'))) !== undefined;
    if (!isOurs) await setTimeout(LOCK_POLL, undefined, { signal });
  }
  try {
    return await work();
  } finally {
    server.close();
  }
}
