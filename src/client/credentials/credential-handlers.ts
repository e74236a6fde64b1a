import type { ConnectCredential, CREDENTIALS } from '../../contract/credentials.ts';
import { MOST_LISTED } from '../../contract/lists.ts';
import type { Handlers, OperationsOf } from '../../contract/operation.ts';
import { Connections } from '../../oauth/connections.ts';
import { connectLink } from '../../oauth/consent.ts';
import { scopesOf } from '../../oauth/oauth-provider.ts';
import type { Store } from '../../store/store.ts';
import { type StoredContext, storeOf } from '../stored-context.ts';

/** Performs what is done to credentials. */
export const credentialHandlers: Handlers<OperationsOf<typeof CREDENTIALS>, StoredContext> = {
  'credentials.put': async (put, context) => await connectionsOf(context, 'credentials.put').vault.put(put),
  'credentials.list': async (list, context) => ({
    credentials: await connectionsOf(context, 'credentials.list').store.list(list),
  }),
  'credentials.remove': async (remove, context) =>
    await connectionsOf(context, 'credentials.remove').remove(remove),
  'credentials.connect': async (owner, context) => {
    const store = storeOf(context, 'credentials.connect');
    const keys = connectionsOf(context, 'credentials.connect').vault.ownKeys();
    const needs = await waitingFor(store, owner);
    return connectLink(keys, { ...owner, needs }, await store.now());
  },
  'credentials.reseal': async ({ app }, context) => ({
    resealed: await connectionsOf(context, 'credentials.reseal').reseal(app),
  }),
};

/** Scopes that calls of a user wait for. */
async function waitingFor(
  { approvals }: Store,
  { credentialKey, ...owner }: ConnectCredential,
): Promise<string[]> {
  const pending = await approvals.list({ ...owner, kind: 'credential', limit: MOST_LISTED });
  const scopes = pending.flatMap(({ authConfig }) =>
    authConfig?.credentialKey === credentialKey ? scopesOf(authConfig) : [],
  );
  return [...new Set(scopes)];
}

export function connectionsOf(context: StoredContext, what: string): Connections {
  return new Connections(storeOf(context, what).credentials, context.credentialKeys);
}
