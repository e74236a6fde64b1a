import { InMemorySessionService } from './in-memory-session-service.ts';
import { Runner } from './runner.ts';
import type { RunnerConfig } from './runner-config.ts';

/**
 * A runner with an `InMemorySessionService` of its own. Semantics: `InMemoryRunner` of `@google/adk` 2.0.0.
 *
 * @param params `appName` defaults to `'InMemoryRunner'`.
 * @example
 * const runner = new InMemoryRunner({ agent });
 * const newMessage = { parts: [{ text: 'Hello' }] };
 * for await (const event of runner.runEphemeral({ userId: 'ada', newMessage })) console.log(stringifyContent(event));
 */
export class InMemoryRunner extends Runner {
  constructor(params: Pick<RunnerConfig, 'app' | 'agent' | 'appName' | 'plugins' | 'resumabilityConfig'>) {
    super({
      ...params,
      appName: params?.appName ?? 'InMemoryRunner',
      sessionService: new InMemorySessionService(),
    });
  }
}
