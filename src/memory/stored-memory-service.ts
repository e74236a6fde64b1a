import { defined } from '../protocol/json.ts';
import type { Store } from '../store/store.ts';
import { SessionNotFound } from '../store/store-errors.ts';
import type { BaseMemoryService } from './base-memory-service.ts';
import { addNewEvents, type NewEvents } from './remember-session.ts';
import { UserMemory, type UserMemoryInit } from './user-memory.ts';

export interface StoredMemoryServiceInit
  extends Omit<UserMemoryInit, 'owner' | 'store'>,
    Pick<NewEvents, 'include'> {
  store: Pick<Store, 'memories' | 'now' | 'sessions'>;
}

/** The memories of a store, by the methods of ADK's service. Of a session that is added, the store's events are kept, each once. */
export function storedMemoryService(init: StoredMemoryServiceInit) {
  const of = ({ appName: app, userId }: { appName: string; userId: string }) =>
    new UserMemory({ ...init, owner: { app, userId } });
  return {
    async addSessionToMemory({ appName: app, userId, id: sessionId }) {
      const names = { app, userId, sessionId };
      if ((await init.store.memories.progress(names)) === undefined) {
        throw new SessionNotFound(`the store has no session ${sessionId} of a user that could be remembered`);
      }
      await addNewEvents({ ...init, names });
    },
    searchMemory: ({ query, ...owner }) => of(owner).search(query),
    addMemory: ({ memories, customMetadata, ...owner }) =>
      of(owner).add(memories.map((memory) => ({ ...defined({ customMetadata }), ...memory }))),
  } satisfies BaseMemoryService;
}
