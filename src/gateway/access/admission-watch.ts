import { errorAnswer } from '../error-answer.ts';

/** How often it is asked anew whether somebody may have what they get for long, milliseconds. */
export const READMIT_AFTER = 4_000;
/** Milliseconds that a caller keeps its access during an outage of its check: most outages are shorter. */
const PATIENCE = 30_000;

export interface AdmissionWatch {
  /** Throws what the caller would be told now, if it came anew. */
  readmit: () => Promise<void>;
  /** Called once, with why, when it may no longer. */
  end: (why: unknown) => void;
  /** Ends the watching. */
  signal: AbortSignal;
}

/** Ends what somebody gets for long when its key is revoked, its token has expired, or its grants have changed. */
export function watchAdmission({ readmit, end, signal }: AdmissionWatch): void {
  let heldAt = performance.now();
  let problem: unknown;
  let isAsking = false;
  const stop = (why: unknown) => {
    clearInterval(timer);
    if (!signal.aborted) end(why);
  };
  const ask = () => {
    if (performance.now() - heldAt > PATIENCE) return stop(problem);
    if (isAsking) return;
    isAsking = true;
    const askedAt = performance.now();
    readmit()
      .then(
        () => {
          heldAt = askedAt;
        },
        (error: unknown) => {
          problem = error;
          if (errorAnswer(error).status < 500) stop(error);
        },
      )
      .finally(() => {
        isAsking = false;
      });
  };
  const timer = setInterval(ask, READMIT_AFTER).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
