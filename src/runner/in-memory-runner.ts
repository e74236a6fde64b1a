import { isAppName } from '../app/app-name.ts';
import { InMemoryMemoryService } from '../memory/in-memory-memory-service.ts';
import { InMemorySessionService } from './in-memory-session-service.ts';
import { Runner } from './runner.ts';
import type { RunnerConfig } from './runner-config.ts';

/**
 * A runner with an `InMemorySessionService` of its own and, if its app has no memory, an `InMemoryMemoryService`; an `appName` that `App`
 * would refuse has no memory. Semantics: `InMemoryRunner` of `@google/adk` 2.0.0.
 *
 * @param params `appName` defaults to `'InMemoryRunner'`.
 * @example
 * const runner = new InMemoryRunner({ agent });
 * const newMessage = { parts: [{ text: 'Hello' }] };
 * for await (const event of runner.runEphemeral({ userId: 'ada', newMessage })) console.log(stringifyContent(event));
 */
export class InMemoryRunner extends Runner {
  constructor(params: Pick<RunnerConfig, 'app' | 'agent' | 'appName' | 'plugins' | 'resumabilityConfig'>) {
    const { app, appName = 'InMemoryRunner' } = params ?? {};
    // A memory is an app's, and the name of sessions may be none that an app takes.
    const takesMemory = app === undefined ? isAppName(appName) : app.durable?.memory === undefined;
    super({
      ...params,
      appName,
      ...(takesMemory && { memoryService: new InMemoryMemoryService() }),
      sessionService: new InMemorySessionService(),
    });
  }
}
