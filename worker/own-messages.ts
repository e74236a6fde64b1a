import { activityInfo, Context } from '@temporalio/activity';
import type { OwnMessage } from '../activities/dependencies.ts';
import { HoldfastClient } from '../src/client/holdfast-client.ts';
import type { Store } from '../src/store/store.ts';

/** Sends messages from within activities, to where their own turns run. */
export function ownMessages(options: {
  store: Store;
  searchAttributes: boolean;
}): (message: OwnMessage) => Promise<void> {
  return async (message) => {
    const { client: temporal } = Context.current();
    const { taskQueue } = activityInfo();
    const client = new HoldfastClient({ temporal, taskQueue, ...options });
    await client.sendMessage(message);
  };
}
