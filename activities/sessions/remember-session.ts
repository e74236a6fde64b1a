import type { RememberSession } from '../../src/contract/sessions.ts';
import { MemoryError } from '../../src/memory/memory-errors.ts';
import { addNewEvents } from '../../src/memory/remember-session.ts';
import { rateLimitIn } from '../../src/models/model-errors.ts';
import { defined } from '../../src/protocol/json.ts';
import { type Attempt, retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';

/** `holdfast.rememberSession`: adds what was said in a session since the last time to the memory of its app. */
export async function rememberSession(
  { store, deployment, conceal }: ActivityDependencies,
  { app, userId, sessionId }: RememberSession,
  { signal }: Attempt,
): Promise<void> {
  const { memory } = settingsOf(deployment, app);
  if (memory?.index !== 'turns') return;
  const { include, embeddings, service } = memory;
  try {
    await addNewEvents({ store, names: { app, userId, sessionId }, include, embeddings, service, signal });
  } catch (error) {
    const limit = rateLimitIn(error);
    if (!(error instanceof MemoryError) || (!conceal && limit === undefined)) throw error;
    // A provider's or a service's message may quote what was said.
    const text = conceal ? 'the session could not be added to the memory' : error.message;
    throw retryLater(error.code, text, defined({ delay: limit?.retryAfterMs }));
  }
}
