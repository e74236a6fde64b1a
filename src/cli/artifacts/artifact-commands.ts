import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { getMimeType } from 'hono/utils/mime';
import type { ArtifactRow } from '../../contract/artifacts.ts';
import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { agreement, processOutput, withProgress } from '../command-output.ts';
import { connected, connectSessions, type InFolder } from '../connect-folder.ts';
import { type NamingOptions, namedSession } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

type Options<More = object> = InFolder<NamingOptions & More>;

/** `holdfast artifacts list`: the newest versions of a session's artifacts, or all versions of one. */
export async function listArtifacts(
  session: string,
  name: string | undefined,
  options: Options<{ limit?: number }>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { artifacts }, apps }) => {
    const { limit, json } = options;
    const names = await namedSession(session, options, apps);
    if (name !== undefined) {
      const versions = await withProgress(output, 'reading versions', artifacts.versions({ ...names, name }));
      return json ? output.json({ versions }) : lines(versions);
    }
    const listing = artifacts.list({ ...names, ...defined({ limit }) });
    const listed = await withProgress(output, 'reading artifacts', listing);
    if (json) return output.json(listed);
    if (listed.artifacts.length === 0) return output.note(`no artifacts in session ${names.sessionId}`);
    lines(listed.artifacts);
    if (listed.next !== undefined) output.note('there are more artifacts: see --limit');
  });

  function lines(rows: readonly ArtifactRow[]): void {
    const columns = ['NAME', { right: 'VERSION' }, 'TYPE', { right: 'BYTES' }, 'SAVED'];
    for (const line of tableLines(columns, rows.map(cellsOf))) output.line(line);
  }
}

function cellsOf({ name, version, mimeType = '', size, uri, savedAt }: ArtifactRow): string[] {
  const bytes = size === undefined ? (uri ?? '') : String(size);
  return [name, String(version), mimeType, bytes, ago(savedAt)].map((cell) => visibleExcerpt(cell, 60));
}

/** `holdfast artifacts get`: writes an artifact to a file, which is there whole or not at all, or to standard output. */
export async function getArtifact(
  session: string,
  name: string,
  options: Options<{ version?: number; out?: string; force?: boolean }>,
  output = processOutput(),
  standardOutput: NodeJS.WritableStream = process.stdout,
): Promise<void> {
  const { version, out = fileNameOf(name), force = false, json = false } = options;
  if (out === '-' && json)
    throw new UsageError('--json: standard output has the bytes: leave one of them out');
  if (out !== '-' && !force && (await exists(out))) {
    throw new UsageError(`${out} is there already: replace it with --force, or name another file with --out`);
  }
  await connected(connectSessions, options, output, async ({ api: { artifacts }, apps }) => {
    const names = await namedSession(session, options, apps);
    const getting = artifacts.get({ ...names, name, ...defined({ version }) });
    const { bytes, ...file } = await withProgress(output, 'reading', getting);
    if (out === '-') return await pipeline(bytes, standardOutput, { end: false });
    await withProgress(output, `writing ${file.size} bytes`, written(bytes, out));
    if (json) return output.json({ ...file, file: out });
    output.line(out);
    output.note(`version ${file.version}, ${file.size} bytes, SHA-256 ${file.sha256}`);
  });
}

async function written(bytes: AsyncIterable<Uint8Array>, file: string): Promise<void> {
  const unfinished = `${file}.part`;
  try {
    await pipeline(bytes, createWriteStream(unfinished));
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** A file of this folder: a name may have slashes, and others have given it. */
function fileNameOf(name: string): string {
  const last =
    name
      .replace(/^user:/, '')
      .split(/[/\\]/)
      .at(-1) ?? '';
  if (last !== '' && !last.startsWith('.') && !last.startsWith('-')) return last;
  throw new CliError('no file is named so without being asked for: name one with --out');
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}

/** `holdfast artifacts put`: saves a file, or standard input, as a version of an artifact. */
export async function putArtifact(
  session: string,
  file: string,
  options: Options<{ name?: string; type?: string }>,
  output = processOutput(),
  standardInput: AsyncIterable<Uint8Array> = process.stdin,
): Promise<void> {
  const { name = nameOf(file), json } = options;
  const mimeType = options.type ?? getMimeType(name) ?? 'application/octet-stream';
  await connected(connectSessions, options, output, async ({ api: { artifacts }, apps }) => {
    const names = await namedSession(session, options, apps);
    const bytes = file === '-' ? standardInput : bytesOf(file);
    const put = artifacts.put({ ...names, name, bytes, mimeType });
    const saved = await withProgress(output, 'saving', put);
    if (json) return output.json(saved);
    output.line(`${saved.name} version ${saved.version}`);
    output.note(`${saved.size} bytes, SHA-256 ${saved.sha256}`);
  });
}

/** Opened when it is read: before, nobody would hear that it can't be. */
async function* bytesOf(file: string): AsyncGenerator<Uint8Array, void, void> {
  yield* createReadStream(file);
}

function nameOf(file: string): string {
  if (file !== '-') return basename(file);
  throw new UsageError('standard input has no name: give the artifact one with --name');
}

/** `holdfast artifacts delete`: all versions of an artifact. Returns the exit code. */
export async function deleteArtifact(
  session: string,
  name: string,
  options: Options<{ yes?: boolean }>,
  output = processOutput(),
): Promise<number> {
  const agrees = agreement('this artifact', options, output);
  return await connected(connectSessions, options, output, async ({ api: { artifacts }, apps }) => {
    const names = await namedSession(session, options, apps);
    const shown = `${visibleExcerpt(name, 100)} of session ${names.sessionId}`;
    if (!(await agrees(`Delete all versions of ${shown}?`))) return 1;
    const deleted = await withProgress(output, 'deleting', artifacts.delete({ ...names, name }));
    const versions = `${deleted} ${deleted === 1 ? 'version' : 'versions'}`;
    if (options.json) output.json({ deleted });
    else output.line(deleted === 0 ? `there was no artifact ${shown}` : `deleted ${versions} of ${shown}`);
    return 0;
  });
}
