import type { KeepMessagesInput, KeepMessagesResult } from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { reportUnexpected } from './logging.ts';

/** `holdfast.keepMessages`: puts messages that came while a turn runs where they outlive it. */
export function keepMessages(
  dependencies: ActivityDependencies,
): (input: KeepMessagesInput) => Promise<KeepMessagesResult> {
  return ({ v: _v, ...keep }) =>
    attempt(
      async () => ({ v: PROTOCOL_VERSION, messages: await dependencies.store.keepMessages(keep) }),
      reportUnexpected(dependencies, { app: keep.app, sessionId: keep.sessionId }),
    );
}
