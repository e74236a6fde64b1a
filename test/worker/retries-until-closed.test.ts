import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';

test('a request that is to be made again ends with its connection, and the process goes on [temporal.configured]', async () => {
  const refusing = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(refusing, 'listening');
  const { port } = refusing.address() as AddressInfo;
  const connection = Connection.lazy({ address: `127.0.0.1:${port}`, interceptors: retriesUntilClosed() });
  const refused = once(refusing, 'connection');
  const request = connection.workflowService.getSystemInfo({}).catch((error: unknown) => error);
  await refused;
  await connection.close();
  const error = await request;
  expect(isGrpcServiceError(error)).toBe(true);
  expect(error).toMatchObject({ details: 'Channel has been shut down' });
  refusing.close();
});
