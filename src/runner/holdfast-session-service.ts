import type { HoldfastApi } from '../client/holdfast-api.ts';
import { StoreSessionService } from './store-session-service.ts';

/**
 * The sessions of a client, kept by its store: those of production. Holdfast's own class, in the place of ADK's
 * `DatabaseSessionService`.
 *
 * @example
 * const sessionService = new HoldfastSessionService(client);
 * const session = await sessionService.getSession({ appName: 'shop', userId: 'ada', sessionId: 's1' });
 */
export class HoldfastSessionService extends StoreSessionService {
  constructor(client: HoldfastApi) {
    super({
      hold: async () => ({ api: client, release: () => undefined }),
      // The maker of the client closes it.
      close: async () => undefined,
    });
  }
}
