import { Connection, isGrpcServiceError } from '@temporalio/client';
import { TemporalUnreachable } from '../../src/client/client-errors.ts';
import type { ConfiguredServer } from './client-config.ts';
import { retriesUntilClosed } from './retries-until-closed.ts';

const CONNECT_TIMEOUT = 5_000;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

/**
 * Connects to a configured server within 5 s and makes sure that its namespace is there.
 *
 * @throws {TemporalUnreachable} it doesn't answer, refuses the credentials, or lacks the namespace
 */
export async function connectConfigured(server: ConfiguredServer): Promise<Connection> {
  const { connectionOptions, namespace } = server;
  const connection = Connection.lazy({
    ...connectionOptions,
    connectTimeout: CONNECT_TIMEOUT,
    interceptors: retriesUntilClosed(),
  });
  try {
    await connection.ensureConnected();
    await connection.withDeadline(Date.now() + CONNECT_TIMEOUT, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return connection;
  } catch (error) {
    await connection.close();
    const { address } = connectionOptions;
    throw new TemporalUnreachable(explain(server, error), { address, cause: error });
  }
}

function explain(
  { connectionOptions: { address, tls }, namespace }: ConfiguredServer,
  error: unknown,
): string {
  const reason = grpcReason(error);
  if (reason?.code === NOT_FOUND) {
    return (
      `Temporal at ${address} has no namespace "${namespace}". Set TEMPORAL_NAMESPACE to one it has, or create ` +
      `it: temporal operator namespace create --namespace ${namespace}`
    );
  }
  if (reason?.code === UNAUTHENTICATED || reason?.code === PERMISSION_DENIED) {
    return (
      `Temporal at ${address} refuses access to namespace "${namespace}" (${reason.details}). Check the API key ` +
      'or client certificate (TEMPORAL_API_KEY, TEMPORAL_TLS_*) and TEMPORAL_NAMESPACE.'
    );
  }
  return (
    `Temporal at ${address} doesn't answer within ${CONNECT_TIMEOUT / 1000} s (TLS ${tls ? 'on' : 'off'}` +
    `${reason?.details ? `; ${reason.details}` : ''}). Start that server, correct TEMPORAL_ADDRESS or its TLS ` +
    'settings (TEMPORAL_TLS*), or unset TEMPORAL_ADDRESS, TEMPORAL_PROFILE and TEMPORAL_CONFIG_FILE to use the ' +
    'embedded server.'
  );
}

function grpcReason(error: unknown): { code: number; details: string } | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (isGrpcServiceError(cause)) return { code: cause.code, details: cause.details };
  }
  return undefined;
}
