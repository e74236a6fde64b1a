import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import type { GateKind } from '../../src/contract/requests.ts';
import { cutSummary } from '../activities.ts';
import type { PendingRequest } from './request-book.ts';

/** Expiry and escalation of a request that waits too long. */
export interface Overdue {
  escalate(): void;
  /** Whether it goes on waiting, with a new time in `until`. */
  expire(): Promise<boolean>;
}

/** No wait gets there: its timer is there to be seen. */
const TEN_YEARS = 10 * 365 * 24 * 60 * 60_000;

const WAITS_FOR: Readonly<Record<GateKind, string>> = {
  confirmation: 'approval',
  credential: 'a credential',
  input: 'an answer',
};

/**
 * Watches how long a request waits; the timers end with the scope that this is called in, or with the one it gives back. One of them is
 * the bar of the wait in the timeline of the Temporal UI.
 */
export function watchTime(request: PendingRequest, overdue: Overdue): CancellationScope {
  const { gate, since } = request;
  const scope = new CancellationScope({ cancellable: true });
  const { requestId, escalateAfter } = gate;
  if (escalateAfter !== undefined) {
    const summary = `escalation of ${requestId}`;
    unlessCancelled(
      scope.run(async () => {
        await sleepUntil(since + escalateAfter, summary);
        overdue.escalate();
      }),
    );
  }
  if (request.until !== undefined) {
    const summary = barText(request, `expiry of ${requestId}`);
    unlessCancelled(
      scope.run(async () => {
        do {
          await sleepUntil(request.until ?? since, summary);
          // Its time was put off by another than this timer.
        } while (Date.now() < (request.until ?? since) || (await overdue.expire()));
      }),
    );
  } else {
    unlessCancelled(scope.run(() => sleep(TEN_YEARS, { summary: barText(request) })));
  }
  return scope;
}

function barText({ gate, call }: PendingRequest, ...more: string[]): string {
  const { summary = '' } = call;
  const parts = [`waits for ${WAITS_FOR[gate.kind]} of ${call.tool}`, ...more, summary];
  return cutSummary(parts.filter((part) => part !== '').join(' · '));
}

function sleepUntil(time: number, summary: string): Promise<void> {
  return sleep(Math.max(time - Date.now(), 1), { summary });
}

function unlessCancelled(work: Promise<void>): void {
  void work.catch((error) => {
    if (!isCancellation(error)) throw error;
  });
}
