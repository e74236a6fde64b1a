import type { CREDENTIALS } from '../../contract/credentials.ts';
import type { Handlers, OperationsOf } from '../../contract/operation.ts';
import { connectLink } from '../../oauth/connect-link.ts';
import { Connections } from '../../oauth/connections.ts';
import { type StoredContext, storeOf } from '../stored-context.ts';

/** Performs what is done to credentials. */
export const credentialHandlers: Handlers<OperationsOf<typeof CREDENTIALS>, StoredContext> = {
  'credentials.put': async (put, context) => await connectionsOf(context, 'credentials.put').vault.put(put),
  'credentials.list': async (list, context) => ({
    credentials: await connectionsOf(context, 'credentials.list').vault.list(list),
  }),
  'credentials.remove': async (remove, context) =>
    await connectionsOf(context, 'credentials.remove').remove(remove),
  'credentials.connect': async ({ scopes = [], ...owner }, context) => {
    const keys = connectionsOf(context, 'credentials.connect').vault.ownKeys();
    const now = await storeOf(context, 'credentials.connect').now();
    return connectLink(keys, { ...owner, needs: scopes }, now);
  },
  'credentials.reseal': async ({ app }, context) => ({
    resealed: await connectionsOf(context, 'credentials.reseal').reseal(app),
  }),
};

function connectionsOf(context: StoredContext, what: string): Connections {
  return new Connections(storeOf(context, what).credentials, context.credentialKeys);
}
