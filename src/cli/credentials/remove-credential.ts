import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { CliError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { DEFAULT_USER, onlyApp } from '../sessions/named-session.ts';

export interface RemoveCredentialOptions {
  app?: string;
  user?: string;
  json?: boolean;
}

/** `holdfast credentials remove`, by the reference or by the name. */
export async function removeCredential(
  argument: string,
  options: RemoveCredentialOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, user = DEFAULT_USER } = options;
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const { credentials } = connected.api;
    const app = options.app ?? (await onlyApp(connected.apps));
    const removed = await withProgress(output, 'removing', remove());
    const shown = visibleExcerpt(argument, 100);
    if (removed === undefined) {
      throw new CliError(
        `app ${app} and user ${user} have no credential ${shown}: see holdfast credentials list`,
      );
    }
    if (options.json) return output.json({ removed });
    output.line(`${removed} is removed`);
    output.note('turns that wait for it, or need it again, ask for a new one');

    async function remove(): Promise<string | undefined> {
      const stored = await credentials.list({ app, userId: user });
      const found = stored.find(
        ({ credentialRef, credentialKey }) => credentialRef === argument || credentialKey === argument,
      );
      if (found === undefined) return undefined;
      const { credentialRef } = found;
      return (await credentials.remove({ app, userId: user, credentialRef })) ? credentialRef : undefined;
    }
  } finally {
    await connected.close();
  }
}
