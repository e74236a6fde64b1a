import { Client, Connection } from '@temporalio/client';
import type { Closing } from '../../../worker/closing.ts';
import { retriesUntilClosed } from '../../../worker/temporal/retries-until-closed.ts';
import { HoldfastClient } from '../../client/holdfast-client.ts';
import { defined } from '../../protocol/json.ts';
import type { Backend } from './backend.ts';

/** @param taskQueue of turns that are started, or what asks Temporal for it. */
export async function openClient(
  { temporal: { connectionOptions, namespace, searchAttributes }, store, credentialKeys }: Backend,
  taskQueue: string | ((temporal: Client) => Promise<string>),
  closing: Closing,
): Promise<{ client: HoldfastClient; temporal: Client }> {
  const connection = await Connection.connect({ ...connectionOptions, interceptors: retriesUntilClosed() });
  closing.add(() => connection.close());
  const temporal = new Client({ connection, namespace });
  const client = new HoldfastClient({
    temporal,
    store,
    taskQueue: typeof taskQueue === 'string' ? taskQueue : await taskQueue(temporal),
    searchAttributes: searchAttributes === 'registered',
    ...defined({ credentialKeys }),
  });
  return { client, temporal };
}
