import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../protocol/json.ts';
import type { PostgresStore } from '../postgres-store.ts';
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from './embedded-postgres.ts';
import { APPLICATION_NAME, openPool, type PoolTimeouts, pgliteConfig } from './open-pool.ts';
import { PathSocket } from './private-socket.ts';
import { obtainTemplate } from './store-template.ts';

export interface EmbeddedStoreOptions {
  onProgress: (line: string) => void;
  timeouts: PoolTimeouts;
  /** Folder of ready-made stores. */
  template?: string | undefined;
}

/** PGlite in a thread of this process, which from then on owns the folder. */
export async function openEmbedded(
  folder: string,
  { onProgress, timeouts, template }: EmbeddedStoreOptions,
): Promise<PostgresStore> {
  const isNew = !existsSync(join(folder, 'store'));
  const copied =
    template !== undefined && isNew
      ? await obtainTemplate(template, {
          onProgress,
          make: async (draft, publishTo) => {
            const store = await openFolder(draft, timeouts, { onProgress, publishTo });
            await store.close();
          },
        })
      : undefined;
  return await openFolder(folder, timeouts, {
    onProgress,
    ...defined({ template: copied }),
  });
}

async function openFolder(
  folder: string,
  timeouts: PoolTimeouts,
  options: EmbeddedPostgresOptions,
): Promise<PostgresStore> {
  const embedded = await startEmbeddedPostgres(folder, options);
  try {
    return await openPool(pgliteConfig(embedded.connection, timeouts), {
      onProgress: options.onProgress,
      place: `embedded in ${folder}`,
      isEmbedded: true,
      gone: embedded.gone,
      socket: embedded.socket,
      onClose: embedded.close,
    });
  } catch (error) {
    await embedded.close();
    throw error;
  }
}

/** The embedded store of another process of this user, by its socket. */
export function joinEmbedded(socket: string, timeouts: PoolTimeouts): Promise<PostgresStore> {
  return openPool(
    {
      ...pgliteConfig(() => new PathSocket(async () => socket), timeouts),
      // Its own name: a connection takes the place of the one that had its name before.
      application_name: `${APPLICATION_NAME} ${randomUUID()}`,
    },
    {
      place: `embedded, joined at ${socket}`,
      isEmbedded: true,
      // All clients of a PGlite share the names of statements, and the owner has them.
      prepares: false,
      meaning: ownersDeath,
    },
  );
}

function ownersDeath(error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOENT' && code !== 'ECONNREFUSED') return undefined;
  return `the process that owns it has ended, or is starting it again (${code}): start that one, then this one`;
}
