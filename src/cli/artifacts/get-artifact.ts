import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { CliError, UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { type NamingOptions, namedSession } from '../sessions/named-session.ts';

export interface GetArtifactOptions extends NamingOptions {
  version?: number;
  out?: string;
  force?: boolean;
  json?: boolean;
}

/** `holdfast artifacts get`: writes an artifact to a file, which is there whole or not at all, or to standard output. */
export async function getArtifact(
  session: string,
  name: string,
  options: GetArtifactOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
  standardOutput: NodeJS.WritableStream = process.stdout,
): Promise<void> {
  const { folder, env, version, out = fileNameOf(name), force = false, json = false } = options;
  if (out === '-' && json)
    throw new UsageError('--json: standard output has the bytes: leave one of them out');
  if (out !== '-' && !force && (await exists(out))) {
    throw new UsageError(`${out} is there already: replace it with --force, or name another file with --out`);
  }
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const names = await namedSession(session, options, connected.apps);
    const which = { ...names, name, ...(version === undefined ? {} : { version }) };
    const { bytes, ...file } = await withProgress(output, 'reading', connected.artifacts.get(which));
    if (out === '-') return await pipeline(bytes, standardOutput, { end: false });
    await withProgress(output, `writing ${file.size} bytes`, written(bytes, out));
    if (json) return output.json({ ...file, file: out });
    output.line(out);
    output.note(`version ${file.version}, ${file.size} bytes, SHA-256 ${file.sha256}`);
  } finally {
    await connected.close();
  }
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
