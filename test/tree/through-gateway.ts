import { GatewayClient } from '../../src/client/gateway-client.ts';
import { createGateway, localAccess, serveGateway } from '../../src/gateway/index.ts';
import { ABOUT, collecting, TOKEN } from '../gateway/gateway-stub.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

/** An environment's client behind a gateway, and the gateway's address. */
export interface ServedGateway {
  gateway: GatewayClient;
  url: string;
  port: number;
  close: () => Promise<unknown>;
}

export async function throughGateway(
  { client }: Pick<TurnEnvironment, 'client'>,
  hosts?: string[],
): Promise<ServedGateway> {
  const { url, port, close } = await serveGateway({
    gateway: createGateway({
      client,
      about: () => ABOUT,
      ready: async () => ({ temporal: true, store: true }),
      access: localAccess({ token: TOKEN, ...(hosts === undefined ? {} : { hosts }) }),
      logger: collecting([]),
    }),
  });
  return { gateway: new GatewayClient({ url, token: TOKEN }), url, port, close };
}
