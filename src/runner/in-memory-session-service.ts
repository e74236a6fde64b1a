import { EmbeddedEnvironment } from './embedded-environment.ts';
import { StoreSessionService } from './store-session-service.ts';

/**
 * Sessions of this process, which end with it. Behind it are a Temporal server and a store of its own: the first use starts them,
 * some seconds after a download that is made once; a runner that is given this service lets its turns run there.
 *
 * A program needs no `close()`: where nothing is under way and nothing else keeps the process up, the environment is suspended
 * within a second, so that the process can end; a later use starts it again with all its sessions. Its files in the folder for
 * temporary files are deleted at the end, also where the process is killed.
 *
 * Methods: `InMemorySessionService` of `@google/adk` 2.0.0.
 *
 * @example
 * const sessionService = new InMemorySessionService();
 * const session = await sessionService.createSession({ appName: 'shop', userId: 'ada' });
 * const runner = new Runner({ appName: 'shop', agent, sessionService });
 */
export class InMemorySessionService extends StoreSessionService implements AsyncDisposable {
  constructor() {
    super(new EmbeddedEnvironment());
  }

  /** Ends the environment at once, and deletes the sessions: for tests, which make many. */
  async close(): Promise<void> {
    await StoreSessionService.accessOf(this).close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
