import { existsSync, realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { readDevEntry, writeDevEntry } from '../folder/dev-file.ts';
import { databaseIsComplete } from './database-file.ts';
import type { TemporalExecutable } from './executable.ts';
import { answers } from './probe.ts';
import { findServers, terminateServers } from './server-process.ts';
import type { ServerPorts } from './start-flags.ts';
import { StartFailure, startServer } from './start-server.ts';

const ADOPT_TIMEOUT = 2_000;
const START_ATTEMPTS = 3;
const ENTRY = 'temporal';

const entrySchema = z.object({
  address: z.string(),
  uiUrl: z.url(),
  /** Null in the moment between the choice of the ports and the start. */
  pid: z.number().int().positive().nullable(),
  startedAt: z.iso.datetime(),
  executable: z.string(),
  version: z.string(),
});

/** Entry `temporal` of `dev.json`: the embedded server. */
export type EmbeddedServer = z.infer<typeof entrySchema>;

export interface EmbeddedOptions {
  folder: string;
  env: NodeJS.ProcessEnv;
  obtainExecutable: () => Promise<TemporalExecutable>;
  onProgress: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * The Temporal server that works on a folder: the live one that `dev.json` names, else a new one, on the same
 * ports where they are free. It outlives this process. The caller owns the folder.
 */
export async function openEmbedded(
  options: EmbeddedOptions,
): Promise<EmbeddedServer & { startedHere: boolean }> {
  const { onProgress, signal } = options;
  const folder = realpathSync(options.folder);
  const known = readDevEntry(folder, ENTRY, entrySchema);
  const adopted = known && (await adopt(folder, known, onProgress));
  if (adopted) {
    onProgress(`using the Temporal server at ${adopted.address}, up since ${adopted.startedAt}`);
    return { ...adopted, startedHere: false };
  }
  const executable = await options.obtainExecutable();
  await terminateServers(folder);
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    const ports = await choosePorts(attempt === 1 ? portsOf(known) : undefined);
    try {
      return { ...(await start(folder, executable, ports, options)), startedHere: true };
    } catch (error) {
      writeDevEntry(folder, ENTRY, undefined);
      if (!(error instanceof StartFailure) || attempt === START_ATTEMPTS) throw error;
    }
  }
}

/**
 * Stops the embedded server of a folder, also one that an earlier process has started, and forgets it. Asks
 * first, ends it after 5 s. The caller owns the folder.
 *
 * @returns whether there was one
 */
export async function stopEmbedded(folder: string): Promise<boolean> {
  if (!existsSync(folder)) return false;
  const path = realpathSync(folder);
  const running = (await findServers(path)) ?? [];
  await terminateServers(path);
  if (readDevEntry(path, ENTRY, z.unknown()) !== undefined) writeDevEntry(path, ENTRY, undefined);
  return running.length > 0;
}

async function adopt(
  folder: string,
  known: EmbeddedServer,
  onProgress: (line: string) => void,
): Promise<EmbeddedServer | undefined> {
  const running = await findServers(folder);
  if (running?.length === 0) return undefined;
  if (!(await answers(known.address, ADOPT_TIMEOUT))) {
    if (running !== undefined)
      onProgress(
        `the Temporal server at ${known.address} is up, but can't read its namespace: it is replaced`,
      );
    return undefined;
  }
  databaseIsComplete(folder);
  const [first = null] = running ?? [];
  if (known.pid !== null && (running?.includes(known.pid) ?? true)) return known;
  const corrected = { ...known, pid: first };
  writeDevEntry(folder, ENTRY, corrected);
  return corrected;
}

async function start(
  folder: string,
  executable: TemporalExecutable,
  ports: ServerPorts,
  { env, onProgress, signal }: EmbeddedOptions,
): Promise<EmbeddedServer> {
  const planned: EmbeddedServer = {
    address: `127.0.0.1:${ports.grpc}`,
    uiUrl: `http://127.0.0.1:${ports.ui}`,
    pid: null,
    startedAt: new Date().toISOString(),
    executable: executable.path,
    version: executable.version,
  };
  writeDevEntry(folder, ENTRY, planned);
  onProgress(`starting Temporal (${executable.path}) at ${planned.address}, UI ${planned.uiUrl}`);
  let entry = planned;
  await startServer({
    folder,
    executable,
    ports,
    address: planned.address,
    env,
    signal,
    onSpawned(pid) {
      entry = { ...planned, pid };
      writeDevEntry(folder, ENTRY, entry);
    },
  });
  return entry;
}

function portsOf(known: EmbeddedServer | undefined): ServerPorts | undefined {
  const grpc = Number(known?.address.split(':').at(-1));
  const ui = Number(known && new URL(known.uiUrl).port);
  return Number.isInteger(grpc) && Number.isInteger(ui) && grpc > 0 && ui > 0 ? { grpc, ui } : undefined;
}

const HOST = '127.0.0.1';
const PATIENCE = 1_000;
const POLL_INTERVAL = 25;

/**
 * The wanted ports if both are free or soon become so, so that links into the UI stay valid; else any two free
 * ones. A killed process keeps its ports, and its locks on the database, for some milliseconds after it has
 * gone from the list of processes.
 */
export async function choosePorts(wanted: ServerPorts | undefined): Promise<ServerPorts> {
  const deadline = Date.now() + PATIENCE;
  while (wanted && Date.now() < deadline) {
    const [grpc, ui] = await Promise.all([bindOnce(wanted.grpc), bindOnce(wanted.ui)]);
    if (grpc !== undefined && ui !== undefined) return wanted;
    await delay(POLL_INTERVAL);
  }
  const [grpc, ui] = await Promise.all([bindOnce(0), bindOnce(0)]);
  if (grpc === undefined || ui === undefined) throw new Error(`no free TCP port on ${HOST}`);
  return { grpc, ui };
}

/** @returns the port that was bound and freed again, undefined if it is taken */
function bindOnce(port: number): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const server = createServer();
  server.on('error', () => resolve(undefined));
  server.listen({ port, host: HOST, exclusive: true }, () => {
    const address = server.address();
    server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined));
  });
  return promise;
}
