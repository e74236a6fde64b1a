import { setImmediate } from 'node:timers/promises';

/** Milliseconds that a worker's turns wait for a toolset at once. */
const SLICE = 15;

/** Does work that pauses often, and lets the event loop go on after each slice of it. */
export async function inSlices<Result>(work: Iterator<unknown, Result>): Promise<Result> {
  let began = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (performance.now() - began < SLICE) continue;
    await setImmediate();
    began = performance.now();
  }
}
