import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { geminiScript } from '../examples/support/agents.ts';
import { startMockGemini } from '../src/testing/mock-gemini.ts';
import { startPostgresServer } from '../test/setup/postgres-server.ts';
import { defaultCacheFolder } from '../worker/temporal/cache-folder.ts';
import { findOnPath, run } from '../worker/temporal/child-process.ts';
import { askGateway } from './deploy/ask-gateway.ts';
import { loadComposeFile, type Service } from './deploy/compose-file.ts';
import { runSqlFile } from './deploy/create-databases.ts';
import { doMainJob } from './deploy/main-job.ts';
import { type NativePlace, nativePlace } from './deploy/native-place.ts';
import { lastLines, type NativeProcess, runToEnd, startProcess, until } from './deploy/native-process.ts';
import { serverPrograms } from './deploy/server-programs.ts';

/**
 * Runs docker-compose.yml without Docker: PostgreSQL, the Temporal server of its image's version, its set-up scripts, the
 * worker and the gateway with its variables; only addresses, ports and paths differ. Then it does the main job on them.
 */

const TURNS = 3;
const SERVER_UP_WITHIN = 120_000;
const HEALTHY_WITHIN = 60_000;
/** As `stop_grace_period` of worker and server. */
const GRACE = 30_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const started = Date.now();
const cleanups: (() => Promise<unknown> | unknown)[] = [];
/** Stops what waits for something that won't come any more. */
const over = new AbortController();

/** Random: the variables are really used. */
const chosen = {
  POSTGRES_PASSWORD: randomBytes(12).toString('hex'),
  TEMPORAL_DB_PASSWORD: randomBytes(12).toString('hex'),
  HOLDFAST_DB_PASSWORD: randomBytes(12).toString('hex'),
  HOLDFAST_GATEWAY_TOKEN: randomBytes(24).toString('hex'),
  GEMINI_API_KEY: randomBytes(12).toString('hex'),
  TEMPORAL_NAMESPACE: 'deployed',
};
const { services } = loadComposeFile(chosen);

function say(line: string): void {
  console.error(`${((Date.now() - started) / 1000).toFixed(1).padStart(7)} s  ${line}`);
}

function serviceOf(name: string): Service {
  const service = services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return service;
}

function tagOf(name: string): string {
  return /:([^:@]+)/.exec(serviceOf(name).image)?.[1] ?? '';
}

/** Without variables of this shell's that the containers wouldn't have. */
function baseEnvironment(...folders: string[]): Record<string, string> {
  const { PATH = '', HOME = '', LANG = 'C.UTF-8' } = process.env;
  return { PATH: [...folders, dirname(process.execPath), PATH].join(delimiter), HOME, LANG };
}

async function deploy(): Promise<string> {
  const cacheFolder = defaultCacheFolder(process.env);
  const version = tagOf('temporal');
  const programs = await serverPrograms(version, { cacheFolder, env: process.env, onProgress: say });
  say(`Temporal server ${version} in ${programs.folder}`);

  const logs = mkdtempSync(join(tmpdir(), 'holdfast-deploy-'));
  cleanups.push(() => rmSync(logs, { recursive: true, force: true }));
  const postgres = await startPostgresServer({ settings: settingsOf(serviceOf('postgres')) });
  cleanups.push(() => postgres.close());
  const [row] = await postgres.query<{ server_version: string }>('show server_version');
  say(`PostgreSQL ${row?.server_version} on port ${postgres.port}`);
  const place = await nativePlace(postgres.port);
  const createDatabases = place.wordOf(
    serviceOf('postgres'),
    '/docker-entrypoint-initdb.d/create-databases.sql',
  );
  await runSqlFile(createDatabases, postgres.urlOf('postgres'), serviceOf('postgres').environment);
  say('roles and the database of the store are there');

  const bin = join(logs, 'bin');
  mkdirSync(bin);
  const ownCli = await findCli();
  if (ownCli === undefined) {
    const program = join(root, 'scripts/deploy/temporal-operator.ts');
    writeFileSync(join(bin, 'temporal'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
      mode: 0o755,
    });
  }
  say(`set up with ${ownCli ?? 'the same calls of our own, since there is no Temporal CLI on PATH'}`);
  const tools = baseEnvironment(programs.folder, ...(ownCli === undefined ? [bin] : [dirname(ownCli)]));
  const context = { place, logs, base: tools };
  const beforeSchema = Date.now();
  await runScript('temporal-schema', context);
  const schemaMs = Date.now() - beforeSchema;
  say(`schemas are set up in ${schemaMs} ms`);
  await runScript('temporal-schema', context);
  say('set up again, as an upgrade does it: nothing to do');

  const beforeServer = Date.now();
  const server = start('temporal', ['temporal-server', 'start'], context);
  await Promise.race([server.failed, until(SERVER_UP_WITHIN, () => serverAnswers(place), over.signal)]);
  const serverMs = Date.now() - beforeServer;
  say(`the server answers at ${place.temporalAddress} after ${serverMs} ms`);
  await Promise.race([server.failed, runScript('temporal-namespace', context)]);
  const namespaceMs = Date.now() - beforeServer;
  say(`namespace and search attributes are there ${namespaceMs} ms after the server's start`);
  await Promise.race([server.failed, runScript('temporal-namespace', context)]);
  say('set up again: nothing to do');

  const gemini = await startMockGemini({ script: geminiScript, apiKey: chosen.GEMINI_API_KEY });
  cleanups.push(() => gemini.close());
  symlinkSync(join(root, 'bin/holdfast.js'), join(bin, 'holdfast'));
  const ours = { ...context, base: { ...baseEnvironment(bin), GOOGLE_GEMINI_BASE_URL: gemini.url } };
  const worker = start('worker', ['holdfast', ...commandOf('worker', place)], ours);
  const gateway = start('gateway', ['holdfast', ...commandOf('gateway', place)], ours);
  const failed = Promise.race([server.failed, worker.failed, gateway.failed]);
  failed.catch(() => undefined);
  for (const name of ['worker', 'gateway']) {
    await Promise.race([failed, until(HEALTHY_WITHIN, () => isHealthy(name, ours), over.signal)]);
    say(`${name} is healthy, by the Compose file’s check`);
  }

  const { HOLDFAST_GATEWAY_HOST, HOLDFAST_GATEWAY_PORT } = place.environmentOf(
    'gateway',
    serviceOf('gateway'),
  );
  const environment = place.environmentOf('worker', serviceOf('worker'));
  const { TEMPORAL_NAMESPACE: namespace = '', HOLDFAST_TASK_QUEUE: taskQueue = '' } = environment;
  const gatewayUrl = `http://${HOLDFAST_GATEWAY_HOST}:${HOLDFAST_GATEWAY_PORT}`;
  await askGateway(gatewayUrl, chosen.HOLDFAST_GATEWAY_TOKEN, { namespace, taskQueue, store: 'postgres' });
  say('the gateway answers callers with its token');
  await runToEnd({ ...programOf('worker', ours), name: 'doctor', command: ['holdfast', 'doctor'] });
  say('holdfast doctor finds nothing to mend');

  const job = await doMainJob({
    address: place.temporalAddress,
    namespace,
    storeUrl: environment.HOLDFAST_STORE ?? '',
    taskQueue,
    turns: TURNS,
    failed,
  });
  say(`${TURNS} turns of ${job.calls} calls each completed: ${job.answer.slice(0, 80)} …`);
  const [connections] = await postgres.query<{ count: number }>(
    "select count(*)::int from pg_stat_activity where backend_type = 'client backend'",
  );
  const code = await worker.stop(GRACE);
  if (code !== 0)
    throw new Error(`the worker ended with ${code} on SIGTERM. Its last lines:\n${lastLines(worker.log)}`);
  say('the worker ended with code 0 on SIGTERM');
  const built = programs.builtInMs === undefined ? 'cached' : `built in ${minutes(programs.builtInMs)} min`;
  return [
    `deployed: Temporal ${version} (${built}) on PostgreSQL ${row?.server_version}`,
    `schemas ${schemaMs} ms, server ${serverMs} ms, namespace ${namespaceMs} ms`,
    `turns ${job.turnMs.join(', ')} ms, ${connections?.count} connections to PostgreSQL`,
  ].join('; ');
}

/** The Temporal CLI on PATH: a program of that name may be a development server alone. */
async function findCli(): Promise<string | undefined> {
  for (const path of await findOnPath('temporal', process.env)) {
    const { exitCode } = await run(path, ['operator', '--help'], { env: process.env, timeout: 10_000 });
    if (exitCode === 0) return path;
  }
  return undefined;
}

interface RunContext {
  place: NativePlace;
  logs: string;
  base: Record<string, string>;
}

function programOf(name: string, { place, logs, base }: RunContext) {
  const cwd = join(logs, name);
  mkdirSync(cwd, { recursive: true });
  const env = { ...base, ...place.environmentOf(name, serviceOf(name)) };
  return { name, env, cwd, log: join(logs, `${name}.log`) };
}

/** A service whose command is a script of ours: the same one. */
async function runScript(name: string, context: RunContext): Promise<void> {
  const service = serviceOf(name);
  const script = context.place.wordOf(service, service.command?.[0] ?? '');
  await runToEnd({ ...programOf(name, context), command: ['sh', script] });
}

function start(name: string, command: readonly [string, ...string[]], context: RunContext): NativeProcess {
  const process = startProcess({ ...programOf(name, context), command });
  cleanups.push(() => process.stop(GRACE));
  return process;
}

async function isHealthy(name: string, context: RunContext): Promise<void> {
  const service = serviceOf(name);
  const [kind, program, ...args] = service.healthcheck?.test ?? [];
  if (kind !== 'CMD' || program === undefined) throw new Error(`${name} has no check of the kind CMD`);
  const words = args.map((word) => context.place.wordOf(service, word));
  await runToEnd({
    ...programOf(name, context),
    name: `the check of ${name}`,
    command: [program, ...words],
    log: join(context.logs, `${name}-check.log`),
  });
}

/** It has no namespace yet. */
async function serverAnswers({ temporalAddress: address }: NativePlace): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 2_000 });
  await connection.close();
}

/** Arguments of the image's `holdfast`. */
function commandOf(name: string, place: NativePlace): string[] {
  const service = serviceOf(name);
  return (service.command ?? []).map((word) => place.wordOf(service, word));
}

/** `-c name=value` of the command that the Compose file starts PostgreSQL with. */
function settingsOf({ command = [] }: Service): Record<string, string> {
  const pairs = command.flatMap((word, index) => (command[index - 1] === '-c' ? [word.split('=')] : []));
  return Object.fromEntries(pairs.map(([name = '', value = '']) => [name, value]));
}

function minutes(ms: number): string {
  return (ms / 60_000).toFixed(1);
}

async function cleanUp(): Promise<void> {
  over.abort();
  for (const end of cleanups.splice(0).reverse()) await end();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    say(`${signal}: stopping`);
    // The processes that are left end with this one.
    void cleanUp().finally(() => process.exit(130));
  });
}

try {
  const line = await deploy();
  await cleanUp();
  console.log(line);
} catch (error) {
  for (let cause = error; cause instanceof Error; cause = cause.cause) console.error(cause.message);
  await cleanUp();
  console.log('not deployed: see above');
  process.exitCode = 1;
}
