import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { onlyApp } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

export interface ListCredentialsOptions {
  app?: string;
  user?: string;
  json?: boolean;
}

/** `holdfast credentials list`: what is stored, without the secrets. */
export async function listCredentials(
  options: ListCredentialsOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, user } = options;
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const app = options.app ?? (await onlyApp(connected.apps));
    const list = { app, ...(user === undefined ? {} : { userId: user }) };
    const credentials = await withProgress(
      output,
      'reading credentials',
      connected.api.credentials.list(list),
    );
    if (options.json) return output.json({ credentials });
    if (credentials.length === 0) return output.note(`no credentials in app ${app}`);
    const rows = credentials.map(
      ({ credentialRef, userId, credentialKey, authType, createdAt, label = '' }) =>
        [credentialRef, userId, credentialKey, authType, ago(createdAt), label].map((cell) =>
          visibleExcerpt(cell, 60),
        ),
    );
    for (const line of tableLines(COLUMNS, rows)) output.line(line);
  } finally {
    await connected.close();
  }
}

const COLUMNS = ['REFERENCE', 'USER', 'NAME', 'TYPE', 'STORED', 'LABEL'].map((title) => ({ title }));
