import type { ArtifactRow } from '../../contract/artifacts.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { type NamingOptions, namedSession } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

export interface ListArtifactsOptions extends NamingOptions {
  limit?: number;
  json?: boolean;
}

/** `holdfast artifacts list`: the newest versions of a session's artifacts, or all versions of one. */
export async function listArtifacts(
  session: string,
  name: string | undefined,
  options: ListArtifactsOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, limit } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const { artifacts } = connected;
    const names = await namedSession(session, options, connected.apps);
    if (name !== undefined) {
      const versions = await withProgress(output, 'reading versions', artifacts.versions({ ...names, name }));
      return options.json ? output.json({ versions }) : lines(versions);
    }
    const page = { ...names, ...(limit === undefined ? {} : { limit }) };
    const listed = await withProgress(output, 'reading artifacts', artifacts.list(page));
    if (options.json) return output.json(listed);
    if (listed.artifacts.length === 0) return output.note(`no artifacts in session ${names.sessionId}`);
    lines(listed.artifacts);
    if (listed.next !== undefined) output.note('there are more artifacts: see --limit');
  } finally {
    await connected.close();
  }

  function lines(rows: readonly ArtifactRow[]): void {
    for (const line of tableLines(COLUMNS, rows.map(cellsOf))) output.line(line);
  }
}

const COLUMNS = [
  { title: 'NAME' },
  { title: 'VERSION', right: true },
  { title: 'TYPE' },
  { title: 'BYTES', right: true },
  { title: 'SAVED' },
];

function cellsOf({ name, version, mimeType = '', size, uri, savedAt }: ArtifactRow): string[] {
  const bytes = size === undefined ? (uri ?? '') : String(size);
  return [name, String(version), mimeType, bytes, ago(savedAt)].map((cell) => visibleExcerpt(cell, 60));
}
