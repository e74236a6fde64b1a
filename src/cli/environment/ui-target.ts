import { z } from 'zod';
import { readDevEntry } from '../../../worker/folder/dev-file.ts';
import { configuredServer } from '../../../worker/temporal/client-config.ts';
import { configuredUiUrl, type UiTarget } from '../../../worker/temporal/ui-link.ts';

const serverSchema = z.object({ uiUrl: z.url() });

/** The Temporal UI of the server that the environment names, or of the folder's last one; asks and starts nothing. */
export function knownUi(env: NodeJS.ProcessEnv, folder: string): UiTarget | undefined {
  const server = configuredServer(env);
  if (server !== undefined) {
    const { connectionOptions, namespace } = server;
    return { namespace, uiUrl: configuredUiUrl(connectionOptions.address, env) };
  }
  const embedded = readDevEntry(folder, 'temporal', serverSchema);
  return embedded && { namespace: 'default', uiUrl: embedded.uiUrl };
}
