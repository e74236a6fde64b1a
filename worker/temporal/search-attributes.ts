import { setTimeout as delay } from 'node:timers/promises';
import { type Connection, isGrpcServiceError } from '@temporalio/client';
import proto from '@temporalio/proto';
import { messageOf } from '../../src/protocol/message-of.ts';
import { SEARCH_ATTRIBUTES } from '../../src/protocol/names.ts';

const KEYWORD = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
const CALL_TIMEOUT = 5_000;
/** Servers keep their registries in caches of up to a minute. */
const USABLE_TIMEOUT = 75_000;
const POLL_INTERVAL = 200;

export interface RegistrationOptions {
  namespace: string;
  onProgress: (line: string) => void;
  onWarning: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Registers Holdfast's search attributes where they are missing and waits until the server accepts them. Where
 * it doesn't permit that, one warning says so, and runs have to do without.
 */
export async function ensureSearchAttributes(
  connection: Connection,
  options: RegistrationOptions,
): Promise<'registered' | 'missing'> {
  const { namespace, onWarning, signal } = options;
  try {
    const missing = await findMissing(connection, namespace);
    if (missing.length === 0) return 'registered';
    await add(connection, namespace, missing);
    await untilUsable(connection, options);
    return 'registered';
  } catch (error) {
    signal?.throwIfAborted();
    if (await areUsable(connection, namespace)) return 'registered';
    const commands = SEARCH_ATTRIBUTES.map((name) => `--name ${name} --type Keyword`).join(' ');
    onWarning(
      `Temporal's list of runs can't be filtered by Holdfast's search attributes, which are left out: ${describe(error)}. ` +
        'To have them, someone with the permission runs `temporal operator search-attribute create ' +
        `--namespace ${namespace} ${commands}\`; the next start takes them up.`,
    );
    return 'missing';
  }
}

async function findMissing(connection: Connection, namespace: string): Promise<string[]> {
  const { customAttributes } = await call(connection, () =>
    connection.operatorService.listSearchAttributes({ namespace }),
  );
  const mistyped = SEARCH_ATTRIBUTES.filter((name) => (customAttributes[name] ?? KEYWORD) !== KEYWORD);
  if (mistyped.length > 0) throw new Error(`${mistyped.join(', ')} exist with a type other than Keyword`);
  return SEARCH_ATTRIBUTES.filter((name) => customAttributes[name] === undefined);
}

async function add(connection: Connection, namespace: string, names: readonly string[]): Promise<void> {
  const searchAttributes = Object.fromEntries(names.map((name) => [name, KEYWORD]));
  await call(connection, () =>
    connection.operatorService.addSearchAttributes({ namespace, searchAttributes }),
  );
}

async function untilUsable(connection: Connection, options: RegistrationOptions): Promise<void> {
  const { namespace, onProgress, signal } = options;
  onProgress(`registered Holdfast's search attributes in namespace ${namespace}`);
  const deadline = Date.now() + USABLE_TIMEOUT;
  while (Date.now() < deadline) {
    if ((await findMissing(connection, namespace)).length === 0 && (await areUsable(connection, namespace)))
      return;
    await delay(POLL_INTERVAL, undefined, { signal });
  }
  throw new Error(`they are registered, but the server doesn't know them after ${USABLE_TIMEOUT / 1000} s`);
}

/** A query that names an unknown attribute is refused; it needs no more than the right to read. */
async function areUsable(connection: Connection, namespace: string): Promise<boolean> {
  const query = SEARCH_ATTRIBUTES.map((name) => `${name} = 'none'`).join(' AND ');
  try {
    await call(connection, () => connection.workflowService.countWorkflowExecutions({ namespace, query }));
    return true;
  } catch (error) {
    if (isGrpcServiceError(error)) return false;
    throw error;
  }
}

function call<T>(connection: Connection, request: () => Promise<T>): Promise<T> {
  return connection.withDeadline(Date.now() + CALL_TIMEOUT, request);
}

function describe(error: unknown): string {
  if (isGrpcServiceError(error)) return error.details || error.message;
  return messageOf(error);
}
