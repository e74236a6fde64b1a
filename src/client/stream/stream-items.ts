import type { StoredEvent } from '../../contract/events.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { isStoreAway } from '../../store/store-errors.ts';
import { SessionPages } from '../sessions/session-pages.ts';
import type { SessionReading } from './follow-events.ts';
import { LiveItems } from './live-items.ts';
import { LiveOrder } from './live-order.ts';
import type { LiveItem, StreamItem } from './stream-item.ts';

export interface StreamOptions extends SessionReading {
  /** Only what belongs to this invocation. */
  of?: string;
  /** Its first event is before what is read. Defaults to false. */
  isUnderWay?: boolean;
}

/**
 * A session's events as `followEvents` gives them, and between them what is heard meanwhile. Events are read from the store
 * when they are due; of what is heard, a reader that is busy may leave some unread.
 *
 * @param heard what was heard so far, closed at the end. Without it nothing is heard before the first item is asked for.
 * @throws FollowerTooSlow
 */
export async function* streamItems(
  store: Store,
  names: SessionNames,
  { after = 0, signal, until, of, isUnderWay = false, found, told = () => undefined }: StreamOptions,
  heard?: LiveItems,
): AsyncGenerator<StreamItem, void, undefined> {
  const live = heard ?? new LiveItems(store, names);
  live.onChild = told;
  const pages = new SessionPages(store, names, after, found);
  let order = new LiveOrder();
  /** There are events up to this seq. */
  let known = 0;
  let over = false;
  const end = () => {
    over = true;
    live.lookAgain();
  };
  until?.then(end, end);
  const runs = of === undefined ? undefined : new TurnRuns(of, isUnderWay);
  if (runs !== undefined) live.narrow((item) => runs.mayHave(item));
  const given = (item: LiveItem) => (runs?.has(item) === false ? [] : order.admit(item));
  try {
    while (!signal?.aborted) {
      const arrival = known > pages.last ? undefined : live.take(pages.last);
      if (arrival !== undefined && 'item' in arrival) {
        yield* given(arrival.item);
        continue;
      }
      known = arrival?.seq ?? known;
      const isDue = live.isLookDue;
      if (!isDue && known <= pages.last) {
        if (arrival === undefined) await live.wait(signal);
        continue;
      }
      const wasOver = over;
      const { session } = pages;
      const page = await look(pages, live, isDue ? undefined : known);
      if (pages.session !== session) order = new LiveOrder();
      // Where nothing came, the next regular look finds what there may be.
      if (!page?.length) known = 0;
      else if (isDue || pages.session !== session) known = pages.end;
      for (const stored of page ?? []) {
        // Live items are given before their stored event, or never.
        while (live.has((item) => order.isBefore(item, stored))) {
          const next = live.take(pages.last);
          if (next !== undefined && 'item' in next) yield* given(next.item);
          else known = Math.max(known, next?.seq ?? 0);
        }
        if (signal?.aborted) return;
        pages.last = stored.seq;
        order.passed(stored);
        runs?.passed(stored);
        if (of === undefined || stored.event.invocationId === of) yield { type: 'event', ...stored };
      }
      if (wasOver && page !== undefined && pages.last >= pages.end) return;
    }
  } finally {
    live.close();
  }
}

/** Undefined while the store can't be reached. */
async function look(
  pages: SessionPages,
  live: LiveItems,
  to: number | undefined,
): Promise<StoredEvent[] | undefined> {
  const forgetOthers = live.looking();
  try {
    const page = await pages.next(to);
    if (pages.session === undefined) forgetOthers();
    else live.follow(pages.session);
    return page;
  } catch (error) {
    if (isStoreAway(error)) return undefined;
    throw error;
  }
}

/** Runs of other turns whose keys are remembered. */
const MOST_OTHERS = 1_000;

/**
 * Which runs of a session are those of one turn: its own, whose key is its invocation's id, and those of the agents that it runs in
 * the same session, whose keys are known from their events.
 */
class TurnRuns {
  readonly #invocationId: string;
  readonly #own: Set<string>;
  readonly #others = new Set<string>();
  /** The last event that was passed is the turn's. */
  #isUnderWay: boolean;

  constructor(invocationId: string, isUnderWay: boolean) {
    this.#isUnderWay = isUnderWay;
    this.#invocationId = invocationId;
    this.#own = new Set([invocationId]);
  }

  passed({ runKey, event }: StoredEvent): void {
    this.#isUnderWay = event.invocationId === this.#invocationId;
    if (this.#isUnderWay) {
      this.#own.add(runKey);
      return;
    }
    this.#others.add(runKey);
    const [oldest = ''] = this.#others;
    if (this.#others.size > MOST_OTHERS) this.#others.delete(oldest);
  }

  /** False where it is known to be another turn's. */
  mayHave({ runKey }: Pick<LiveItem, 'runKey'>): boolean {
    return !this.#others.has(runKey);
  }

  /** An item from before its run's first event is of the turn that is under way; a session has one at a time. */
  has(item: LiveItem): boolean {
    if (this.#own.has(item.runKey)) return true;
    const mayOutlive = item.type === 'job' && item.mode === 'detached';
    return this.#isUnderWay && !mayOutlive && this.mayHave(item);
  }
}
