import { setTimeout } from 'node:timers/promises';
import type { Store } from '../src/store/store.ts';
import { isStoreAway, type StoreUnavailable } from '../src/store/store-errors.ts';
import type { Attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { type CallPlace, callLogger } from './logging.ts';

/** Milliseconds between two tries. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 1_000;

/**
 * What records something that has happened, or is asked between that and its record. Each may be sent again as it is: it changes nothing
 * more, and answers what counts.
 */
const LASTING: ReadonlySet<keyof Store> = new Set<keyof Store>([
  'askOnce',
  'commitStep',
  'detachJob',
  'endJob',
  'findJob',
  'limitModel',
  'openJob',
  'parkJob',
  'progressJob',
  'recordCallFailure',
  'recordEntries',
  'recordOnce',
  'recordStepFailure',
  'settleCall',
  'settleStep',
  'suspendCall',
]);

type Waits = (reason: StoreUnavailable) => void;

/**
 * The store of an attempt that has begun something: what happened meanwhile is recorded as soon as the store is back, by this attempt,
 * because the next one would do it again or find its outcome unknown. Heartbeats go on, and what else there is to ask of the store fails
 * at once, as before.
 */
export function withLastingStore(
  dependencies: ActivityDependencies,
  current: Attempt,
  place: CallPlace,
): ActivityDependencies {
  const waits = toldOnce((reason) =>
    callLogger(dependencies, place).warn('an attempt waits for the store', { reason: reason.message }),
  );
  const store = new Proxy(dependencies.store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (!LASTING.has(name as keyof Store)) return member.bind(target);
      return (...given: unknown[]) => untilBack(() => Reflect.apply(member, target, given), current, waits);
    },
  });
  return { ...dependencies, store };
}

/**
 * Does work of the store, again and again while the store is away, as long as the attempt has time and nobody ends it.
 *
 * @param work may be done again as it is.
 * @param waits is told of each failure that is waited out.
 * @throws what the work throws otherwise, and StoreUnavailable where the store has stayed away for too long.
 */
export async function untilBack<T>(work: () => Promise<T>, current: Attempt, waits: Waits): Promise<T> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return await work();
    } catch (error) {
      if (!isStoreAway(error) || current.signal.aborted || current.timeLeft() <= pause) throw error;
      waits(error);
      const isOver = await setTimeout(pause, false, { signal: current.signal }).catch(() => true);
      if (isOver) throw error;
    }
  }
}

function toldOnce(tell: Waits): Waits {
  let isTold = false;
  return (reason) => {
    if (!isTold) tell(reason);
    isTold = true;
  };
}
