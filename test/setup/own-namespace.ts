import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endWithProcess } from '../../worker/embedded/end-with-process.ts';
import { TemporalServer } from './temporal-server.ts';

/** More than the environments of a test file. */
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
 * A namespace that nobody else uses, with Holdfast's search attributes, on the server that the environments of a test file share. Files
 * don't share one: SQLite of a development server can break for good ("interrupted"), and all of them would fail with it.
 */
export async function ownNamespace(): Promise<TemporalPlace> {
  const namespace = NAMESPACES[taken];
  taken += 1;
  if (namespace === undefined) throw new Error(`all ${NAMESPACES.length} namespaces are taken: make it more`);
  server ??= startServer();
  const { address, uiUrl } = await server;
  return { address, namespace, uiUrl };
}

function startServer(): Promise<TemporalServer> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tests-'));
  endWithProcess(folder, { remove: true });
  return TemporalServer.start(folder, { config: CONFIG, namespaces: NAMESPACES });
}
