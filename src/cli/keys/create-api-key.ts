import type { Permission } from '../../contract/lists.ts';
import { newKeyText } from '../../gateway/access/key-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectStore } from '../connect-folder.ts';
import { grantsText, statusOf } from './api-key-lines.ts';

export interface CreateApiKeyOptions {
  /** Owner of the key. */
  name: string;
  app: readonly string[];
  role: readonly Permission[];
  /** The only user in whose name it may act. */
  user?: string;
  /** Milliseconds. */
  expires?: number;
  json?: boolean;
}

/** `holdfast keys create NAME`: an API key. Its text is shown this once. */
export async function createApiKey(
  options: CreateApiKeyOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, name, app, role, user, expires } = options;
  const { store, close } = await connectStore({ folder, env, onProgress: output.note });
  try {
    const { text, keyId, digest } = newKeyText();
    const made = await withProgress(
      output,
      'storing',
      store.keys.create({
        ...{ keyId, digest, name },
        grants: [...new Set(app)].map((each) => ({ app: each, roles: [...new Set(role)] })),
        ...(user === undefined ? {} : { userId: user }),
        ...(expires === undefined ? {} : { expiresIn: expires }),
      }),
    );
    if (options.json) return output.json({ key: text, ...made });
    output.line(text);
    output.note(
      `the key of ${name} (${grantsText(made.grants)}${user === undefined ? '' : `, as user ${user} only`}; ${statusOf(made)}): it is shown this ` +
        `once. Requests show it as "Authorization: Bearer …"; holdfast keys revoke ${keyId} ends it`,
    );
  } finally {
    await close();
  }
}
