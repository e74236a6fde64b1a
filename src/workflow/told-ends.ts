import { defineSignal, setHandler } from '@temporalio/workflow';
import { TURN_ENDED } from '../protocol/names.ts';
import type { TurnResult } from '../protocol/turn.ts';

interface Waiting {
  invocationId: string;
  resolve(result: TurnResult): void;
}

/** Of this workflow: each has modules of its own. */
const waiting = new Set<Waiting>();
let isHandled = false;

/** The end of a turn whose run goes on with others, as the run tells; for as long as `work` takes. */
export async function untilTold<T>(
  invocationId: string,
  work: (told: Promise<TurnResult>) => Promise<T>,
): Promise<T> {
  if (!isHandled) {
    isHandled = true;
    setHandler(
      defineSignal<[TurnResult]>(TURN_ENDED),
      (result) => {
        for (const each of waiting) if (each.invocationId === result?.invocationId) each.resolve(result);
      },
      {
        description:
          'from turns that this workflow has started: one has ended, and its run goes on with others',
      },
    );
  }
  const { promise, resolve } = Promise.withResolvers<TurnResult>();
  const one = { invocationId, resolve };
  waiting.add(one);
  try {
    return await work(promise);
  } finally {
    waiting.delete(one);
  }
}
