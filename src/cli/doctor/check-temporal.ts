import { existsSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Connection, isGrpcServiceError } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { z } from 'zod';
import { readDevEntry } from '../../../worker/folder/dev-file.ts';
import { isAlive, readLockOwner } from '../../../worker/folder/exclusive.ts';
import { findLocalGateway } from '../../../worker/local-gateway.ts';
import { defaultCacheFolder } from '../../../worker/temporal/cache-folder.ts';
import { type ConfiguredServer, configuredServer } from '../../../worker/temporal/client-config.ts';
import { connectConfigured } from '../../../worker/temporal/configured.ts';
import { findExecutable } from '../../../worker/temporal/executable.ts';
import { GatewayClient } from '../../client/gateway-client.ts';
import { DEFAULT_TASK_QUEUE, SEARCH_ATTRIBUTES } from '../../protocol/names.ts';
import { type Finding, findingsAbout, problemOf, type Surroundings } from './finding.ts';

const temporal = findingsAbout('temporal');
const attributes = findingsAbout('search attributes');
const workers = findingsAbout('workers');

const CALL_TIMEOUT = 5_000;
const KEYWORD = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
const { TASK_QUEUE_TYPE_WORKFLOW, TASK_QUEUE_TYPE_ACTIVITY } = proto.temporal.api.enums.v1.TaskQueueType;

/** gRPC's codes of a server that doesn't let us look. */
const NOT_PERMITTED = [7, 12, 16];

/** The oldest server that was tested. */
const OLDEST_SERVER = [1, 29] as const;

const devServerSchema = z.object({ address: z.string(), version: z.string() });

export async function checkTemporal(surroundings: Surroundings): Promise<Finding[]> {
  let server: ConfiguredServer | undefined;
  try {
    server = configuredServer(surroundings.env);
  } catch (error) {
    return temporal.failed(error, 'correct the variable or file; docs/configuration.md lists them');
  }
  const embedded = server === undefined ? embeddedServer(surroundings.folder) : undefined;
  if (embedded !== undefined) {
    server = { connectionOptions: { address: embedded }, namespace: 'default' };
  }
  if (server === undefined) return await checkExecutable(surroundings);
  let connection: Connection;
  try {
    connection = await connectConfigured(server);
  } catch (error) {
    if (embedded !== undefined) {
      const owner = readLockOwner(join(surroundings.folder, 'owner.json'));
      if (owner !== undefined) {
        return temporal.fail(
          `the folder's server at ${embedded} is down, and the turns of process ${owner.pid}, which uses the folder, stand still`,
          `that process starts it again within seconds; if it doesn't, end it (kill ${owner.pid}) and start it again: temporal.log in the folder says more`,
        );
      }
      return [
        ...temporal.ok(`the folder's server at ${embedded} is down: the next command starts it again`),
        ...(await checkExecutable(surroundings)),
      ];
    }
    return temporal.failed(error, 'npx holdfast explain HOLDFAST_TEMPORAL_UNREACHABLE says more');
  }
  try {
    return (
      await Promise.all([
        checkServer(connection, server),
        checkSearchAttributes(connection, server.namespace),
        checkPollers(connection, server.namespace, surroundings),
      ])
    ).flat();
  } finally {
    await connection.close();
  }
}

/** Address of the server that `dev.json` names, which may be down. */
function embeddedServer(folder: string): string | undefined {
  if (!existsSync(folder)) return undefined;
  try {
    return readDevEntry(realpathSync(folder), 'temporal', devServerSchema)?.address;
  } catch {
    // The folder's own check says that its file is damaged.
    return undefined;
  }
}

async function checkExecutable({ env }: Surroundings): Promise<Finding[]> {
  try {
    const found = await findExecutable({
      configured: env.HOLDFAST_TEMPORAL_CLI,
      cacheFolder: defaultCacheFolder(env),
      env,
    });
    if (!Array.isArray(found)) {
      const { path, version } = found;
      return temporal.ok(`no server is named or runs; a local one is started by ${path}, ${version}`);
    }
    return temporal.warn(
      'no server is named or runs, and this machine has no temporal program: the first command downloads or builds one',
      'install the Temporal CLI (https://docs.temporal.io/cli), or set TEMPORAL_ADDRESS',
    );
  } catch (error) {
    return temporal.failed(error, 'correct HOLDFAST_TEMPORAL_CLI, or unset it');
  }
}

async function checkServer(
  connection: Connection,
  { connectionOptions: { address }, namespace }: ConfiguredServer,
): Promise<Finding[]> {
  const [info, described] = await within(connection, () =>
    Promise.all([
      connection.workflowService.getSystemInfo({}),
      connection.workflowService.describeNamespace({ namespace }),
    ]),
  );
  const version = info.serverVersion || 'unknown';
  const findings = temporal.ok(`server ${version} at ${address}, namespace ${namespace}`);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_SERVER;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    findings.push(
      ...temporal.warn(
        `server ${version} is older than ${OLDEST_SERVER.join('.')}, the oldest that Holdfast is tested with`,
        'upgrade the Temporal server',
      ),
    );
  }
  // Servers that don't say whether they take updates are older than the question.
  if (described.namespaceInfo?.capabilities?.syncUpdate === false) {
    findings.push(
      ...temporal.fail(
        `namespace ${namespace} takes no workflow updates: messages are not confirmed, calls can't be cancelled at once`,
        "set frontend.enableUpdateWorkflowExecution to true in the server's dynamic configuration",
      ),
    );
  }
  return findings;
}

async function checkSearchAttributes(connection: Connection, namespace: string): Promise<Finding[]> {
  const create = (names: readonly string[]) =>
    `temporal operator search-attribute create --namespace ${namespace} ${names.map((name) => `--name ${name} --type Keyword`).join(' ')}`;
  try {
    const { customAttributes } = await within(connection, () =>
      connection.operatorService.listSearchAttributes({ namespace }),
    );
    const mistyped = SEARCH_ATTRIBUTES.filter((name) => (customAttributes[name] ?? KEYWORD) !== KEYWORD);
    if (mistyped.length > 0) {
      return attributes.fail(
        `${mistyped.join(', ')} exist with a type other than Keyword`,
        'remove them (temporal operator search-attribute remove), and create them as Keyword',
      );
    }
    const missing = SEARCH_ATTRIBUTES.filter((name) => customAttributes[name] === undefined);
    if (missing.length === 0) return attributes.ok(`${SEARCH_ATTRIBUTES.length} registered`);
    return attributes.warn(
      `${missing.join(', ')} not registered: runs can't be filtered by app, user or session`,
      `the next worker registers them if it may; else someone who may runs ${create(missing)}`,
    );
  } catch (error) {
    const refused = isGrpcServiceError(error) && NOT_PERMITTED.includes(Number(error.code));
    if (!refused) return attributes.failed(error, 'see whether the server is healthy');
    return await checkByQuery(connection, namespace, create(SEARCH_ATTRIBUTES));
  }
}

/** A query that names an unknown attribute is refused; it needs no more than the right to read. */
async function checkByQuery(connection: Connection, namespace: string, fix: string): Promise<Finding[]> {
  const query = SEARCH_ATTRIBUTES.map((name) => `${name} = 'none'`).join(' AND ');
  try {
    await within(connection, () => connection.workflowService.countWorkflowExecutions({ namespace, query }));
    return attributes.ok('usable');
  } catch (error) {
    return attributes.warn(`not usable: ${problemOf(error)}`, `someone who may runs ${fix}`);
  }
}

async function checkPollers(
  connection: Connection,
  namespace: string,
  surroundings: Surroundings,
): Promise<Finding[]> {
  const queue = await taskQueueOf(surroundings);
  if (queue === undefined) {
    return workers.ok('each command brings its own: the store is embedded, and nobody has its folder');
  }
  const kinds = { workflows: TASK_QUEUE_TYPE_WORKFLOW, tools: TASK_QUEUE_TYPE_ACTIVITY };
  const polled = await Promise.all(
    Object.entries(kinds).map(async ([kind, taskQueueType]) => {
      const { pollers } = await within(connection, () =>
        connection.workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name: queue },
          taskQueueType,
        }),
      );
      return { kind, identities: alivePollers(pollers) };
    }),
  );
  const lacking = polled.filter(({ identities }) => identities.length === 0).map(({ kind }) => kind);
  const found = [...new Set(polled.flatMap(({ identities }) => identities))];
  if (lacking.length === 0) {
    return workers.ok(
      `${found.length} poll${found.length === 1 ? 's' : ''} the task queue ${queue}: ${found.join(', ')}`,
    );
  }
  return workers.warn(
    `no worker for ${lacking.join(' and ')} polls the task queue ${queue} now: turns wait`,
    'start one: holdfast worker <agents.ts>; or correct HOLDFAST_TASK_QUEUE',
  );
}

async function taskQueueOf({ taskQueue, env, folder }: Surroundings): Promise<string | undefined> {
  const named = taskQueue ?? env.HOLDFAST_TASK_QUEUE;
  if (named !== undefined) return named;
  if (env.HOLDFAST_STORE) return DEFAULT_TASK_QUEUE;
  const gateway = existsSync(folder) ? await findLocalGateway(folder) : undefined;
  return gateway && (await new GatewayClient(gateway).about()).taskQueue;
}

function within<T>(connection: Connection, request: () => Promise<T>): Promise<T> {
  return connection.withDeadline(Date.now() + CALL_TIMEOUT, request);
}

/** Milliseconds: a worker asks anew within its long poll of a minute, and a busy machine adds to it. */
const POLLS_EVERY = 75_000;

/** The identity of a worker that has no given one: `pid@host`. */
const OWN_IDENTITY = /^(\d+)@(.+)$/;

/** Identities of the workers that still poll: the server lists those that are gone for minutes, and each reload of `holdfast dev` is another one. */
export function alivePollers(
  pollers: readonly proto.temporal.api.taskqueue.v1.IPollerInfo[],
  now = Date.now(),
): string[] {
  return pollers
    .filter(({ lastAccessTime }) => lastAccessTime == null || now - tsToMs(lastAccessTime) < POLLS_EVERY)
    .map(({ identity }) => identity ?? '')
    .filter((identity) => !isGone(identity));
}

/** Of this machine that can be seen at once. */
function isGone(identity: string): boolean {
  const [, pid, host] = OWN_IDENTITY.exec(identity) ?? [];
  return host === hostname() && !isAlive(Number(pid));
}
