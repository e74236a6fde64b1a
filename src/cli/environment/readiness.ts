import type { Client } from '@temporalio/client';
import { type Readiness, readiness } from '../../gateway/health/readiness.ts';
import type { Store } from '../../store/store.ts';

/** Names no session: asking for it shows that the store answers. */
const NOBODY = { app: '-', userId: '-', sessionId: '-' };

/** Whether Temporal, the store, and what else is asked for answer now. */
export function readinessOf(
  temporal: Client,
  store: Store,
  others: Readonly<Record<string, () => Promise<unknown>>> = {},
): () => Promise<Readiness> {
  return readiness({
    temporal: () => temporal.workflowService.getSystemInfo({}),
    store: () => store.sessions.find(NOBODY),
    ...others,
  });
}
