import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { getMimeType } from 'hono/utils/mime';
import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { type NamingOptions, namedSession } from '../sessions/named-session.ts';

export interface PutArtifactOptions extends NamingOptions {
  name?: string;
  type?: string;
  json?: boolean;
}

/** `holdfast artifacts put`: saves a file, or standard input, as a version of an artifact. */
export async function putArtifact(
  session: string,
  file: string,
  options: PutArtifactOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
  standardInput: AsyncIterable<Uint8Array> = process.stdin,
): Promise<void> {
  const { folder, env, name = nameOf(file) } = options;
  const mimeType = options.type ?? getMimeType(name) ?? 'application/octet-stream';
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const names = await namedSession(session, options, connected.apps);
    const bytes = file === '-' ? standardInput : bytesOf(file);
    const put = connected.artifacts.put({ ...names, name, bytes, mimeType });
    const saved = await withProgress(output, 'saving', put);
    if (options.json) return output.json(saved);
    output.line(`${saved.name} version ${saved.version}`);
    output.note(`${saved.size} bytes, SHA-256 ${saved.sha256}`);
  } finally {
    await connected.close();
  }
}

/** Opened when it is read: before, nobody would hear that it can't be. */
async function* bytesOf(file: string): AsyncGenerator<Uint8Array, void, void> {
  yield* createReadStream(file);
}

function nameOf(file: string): string {
  if (file !== '-') return basename(file);
  throw new UsageError('standard input has no name: give the artifact one with --name');
}
