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
 * The store of attempts that have begun something: what happened meanwhile is recorded as soon as the store is back, by the same attempt,
 * because the next one would do it again or find its outcome unknown. Heartbeats go on, and what else there is to ask of the store fails
 * at once, as before.
 */
export class StoreRetries {
  readonly #dependencies: ActivityDependencies;
  readonly #turns: Store['turns'];
  readonly #jobs: Store['jobs'];
  readonly #approvals: Store['approvals'];

  constructor(dependencies: ActivityDependencies) {
    const { turns, jobs, approvals } = dependencies.store;
    this.#dependencies = dependencies;
    this.#turns = retryingFacet(turns, RETRIED.turns);
    this.#jobs = retryingFacet(jobs, RETRIED.jobs);
    this.#approvals = retryingFacet(approvals, RETRIED.approvals);
  }

  /** The dependencies of one attempt. */
  of(current: Attempt, place: CallPlace): ActivityDependencies {
    const waits = onlyOnce((reason) =>
      callLogger(this.#dependencies, place).warn('an attempt waits for the store', {
        reason: reason.message,
      }),
    );
    const again: Again = (work) => retryUntilAvailable(work, current, waits);
    const store = above(this.#dependencies.store, {
      turns: above(this.#turns, { again }),
      jobs: above(this.#jobs, { again }),
      approvals: above(this.#approvals, { again }),
    });
    return above(this.#dependencies, { store });
  }
}

/** Its operations retry by their object's `again`: attempts differ in nothing else. */
function retryingFacet<Facet extends object>(facet: Facet, retried: readonly (keyof Facet)[]): Facet {
  const operations = retried.map((name) => [
    name,
    function (this: { again: Again }, ...given: unknown[]) {
      return this.again(() => Reflect.apply(facet[name] as () => Promise<unknown>, facet, given));
    },
  ]);
  return Object.assign(Object.create(facet), Object.fromEntries(operations));
}

/** A copy of all fields would take most of the time that an attempt's beginning takes. */
function above<Base extends object>(base: Base, own: object): Base {
  return Object.assign(Object.create(base), own);
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
