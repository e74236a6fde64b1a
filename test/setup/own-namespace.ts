import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endWithProcess } from '../../worker/embedded/end-with-process.ts';
import { TemporalServer } from './temporal-server.ts';

/** Of a server; they take some seconds to be made, all at once. */
const NAMESPACES = Array.from({ length: 48 }, (_, index) => `test-${index + 1}`);

const CONFIG = [
  // Nothing of Holdfast's runs in them but schedules, whose tests have servers of their own.
  'worker.perNamespaceWorkerCount=0',
  // No namespace comes or goes.
  'system.namespaceCacheRefreshInterval="1h"',
];

/** A place on a Temporal server. */
export interface TemporalPlace {
  address: string;
  namespace: string;
  uiUrl: string;
}

let server: Promise<TemporalServer> | undefined;
let taken = 0;

/**
 * A namespace that nobody else uses, with Holdfast's search attributes, on the server of this process's test files. The run has one
 * for each process: SQLite of a development server can break for good ("interrupted"), and all tests would fail with it.
 */
export async function ownNamespace(): Promise<TemporalPlace> {
  if (taken === NAMESPACES.length) {
    // The one before ends with the process: environments may still use it.
    server = undefined;
    taken = 0;
  }
  const namespace = NAMESPACES[taken] as string;
  taken += 1;
  server ??= startServer();
  const { address, uiUrl } = await server;
  return { address, namespace, uiUrl };
}

function startServer(): Promise<TemporalServer> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tests-'));
  endWithProcess(folder, { remove: true });
  return TemporalServer.start(folder, { config: CONFIG, namespaces: NAMESPACES });
}
