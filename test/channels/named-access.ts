import type { HoldfastApi } from '../../src/client/index.ts';
import { type Access, createGateway, type Gateway, type GatewayOptions } from '../../src/gateway/index.ts';

/** Whoever says so in `X-Person` is that person: for tests of what comes behind authentication. */
export const namedAccess: Access = {
  reach: 'loopback',
  screen: () => undefined,
  authenticate: ({ headers }) => {
    const person = headers.get('x-person') ?? '';
    return { name: person, ...(person === '' ? {} : { person }), may: () => 'allowed' };
  },
};

const silent = () => undefined;

/** A gateway to a client that is there already. */
export function gatewayOf(client: HoldfastApi, more: Partial<GatewayOptions> = {}): Gateway {
  return createGateway({
    client,
    about: () => ({
      v: 1 as const,
      version: '0',
      namespace: 'default',
      taskQueue: 'holdfast',
      store: 'embedded' as const,
      apps: [],
      agents: [],
    }),
    ready: async () => ({}),
    access: namedAccess,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    ...more,
  });
}
