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
 * Operations that record an effect, or run between an effect and its record. Each may be sent again as it is: it changes nothing
 * more, and returns the first result.
 */
const RETRIED = {
  turns: [
    'askOnce',
    'commitStep',
    'limitModel',
    'recordCallFailure',
    'recordOnce',
    'recordStepFailure',
    'settleCall',
    'settleStep',
  ],
  jobs: ['detach', 'end', 'find', 'open', 'park', 'progress'],
  approvals: ['recordEntries', 'suspendCall'],
} as const satisfies { [Noun in keyof Store]?: readonly (keyof Store[Noun])[] };

type Again = <T>(work: () => Promise<T>) => Promise<T>;
type OnWait = (reason: StoreUnavailable) => void;

/**
 * The store of an attempt that has begun something: what happened meanwhile is recorded as soon as the store is back, by this attempt,
 * because the next one would do it again or find its outcome unknown. Heartbeats go on, and what else there is to ask of the store fails
 * at once, as before.
 */
export function withStoreRetries(
  dependencies: ActivityDependencies,
  current: Attempt,
  place: CallPlace,
): ActivityDependencies {
  const waits = onlyOnce((reason) =>
    callLogger(dependencies, place).warn('an attempt waits for the store', { reason: reason.message }),
  );
  const { store } = dependencies;
  const again: Again = (work) => retryUntilAvailable(work, current, waits);
  const retrying = {
    turns: retryingFacet(store.turns, RETRIED.turns, again),
    jobs: retryingFacet(store.jobs, RETRIED.jobs, again),
    approvals: retryingFacet(store.approvals, RETRIED.approvals, again),
  };
  return { ...dependencies, store: Object.assign(Object.create(store) as Store, retrying) };
}

function retryingFacet<Facet extends object>(
  facet: Facet,
  retried: readonly (keyof Facet)[],
  again: Again,
): Facet {
  return new Proxy(facet, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function' || !retried.some((each) => each === name)) return member;
      return (...given: unknown[]) => again(() => Reflect.apply(member, target, given));
    },
  });
}

/**
 * Does work of the store, again and again while the store is away, as long as the attempt has time and nobody ends it.
 *
 * @param work may be done again as it is.
 * @param waits is told of each failure that is waited out.
 * @throws other errors of the work, and StoreUnavailable where the store has stayed away for too long.
 */
export async function retryUntilAvailable<T>(
  work: () => Promise<T>,
  current: Attempt,
  waits: OnWait,
): Promise<T> {
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

function onlyOnce(tell: OnWait): OnWait {
  let isReported = false;
  return (reason) => {
    if (!isReported) tell(reason);
    isReported = true;
  };
}
