import { Client, Connection } from '@temporalio/client';
import { retriesUntilClosed } from '../../../worker/temporal/retries-until-closed.ts';
import { HoldfastClient } from '../../client/holdfast-client.ts';
import type { Backend } from './backend.ts';

export interface OpenedClient {
  client: HoldfastClient;
  temporal: Client;
  close(): Promise<void>;
}

export async function openClient(
  { temporal, store, credentialKeys }: Backend,
  taskQueue: string,
): Promise<OpenedClient> {
  const connection = await Connection.connect({
    ...temporal.connectionOptions,
    interceptors: retriesUntilClosed(),
  });
  const own = new Client({ connection, namespace: temporal.namespace });
  const searchAttributes = temporal.searchAttributes === 'registered';
  const client = new HoldfastClient({
    temporal: own,
    store,
    taskQueue,
    searchAttributes,
    ...(credentialKeys === undefined ? {} : { credentialKeys }),
  });
  return { client, temporal: own, close: () => connection.close() };
}
