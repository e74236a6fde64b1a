import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import type { PendingRequest } from './request-book.ts';

/** What becomes of a request that waits too long. */
export interface Overdue {
  escalate(): void;
  /** Whether it goes on waiting, with a new time in `until`. */
  expire(): Promise<boolean>;
}

/** Watches how long a request waits; the timers end with the scope that this is called in, or with the one it gives back. */
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
    const summary = `expiry of ${requestId}`;
    unlessCancelled(
      scope.run(async () => {
        do {
          await sleepUntil(request.until ?? since, summary);
          // Its time was put off by another than this timer.
        } while (Date.now() < (request.until ?? since) || (await overdue.expire()));
      }),
    );
  }
  return scope;
}

function sleepUntil(time: number, summary: string): Promise<void> {
  return sleep(Math.max(time - Date.now(), 1), { summary });
}

function unlessCancelled(work: Promise<void>): void {
  void work.catch((error) => {
    if (!isCancellation(error)) throw error;
  });
}
