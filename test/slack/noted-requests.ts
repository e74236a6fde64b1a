import { randomUUID } from 'node:crypto';
import type { NoticeContext, NotifiedRequest } from '../../src/approvals/notifier.ts';

/** As a worker gives it to a notifier; what it keeps is in `notes`. */
export function noticeContext(
  notes: Map<string, unknown>,
  signal: AbortSignal = new AbortController().signal,
): NoticeContext {
  return {
    since: Date.now(),
    signal,
    now: async () => Date.now(),
    linkFor: () => undefined,
    kept: async (requestId) => notes.get(requestId),
    keep: async (requestId, value) => {
      notes.set(requestId, structuredClone(value));
    },
  };
}

export function notifiedRequest(more: Partial<NotifiedRequest> = {}): NotifiedRequest {
  return {
    ...{ requestId: `rq-${randomUUID()}`, kind: 'confirmation', app: 'shop', userId: 'ada', sessionId: 's1' },
    ...{ agent: 'cashier', path: ['cashier'], tool: 'pay', callKey: 'k', callId: 'c', hint: '', args: {} },
    ...{ terms: {}, since: Date.now(), commands: [], links: {} },
    ...more,
  };
}
