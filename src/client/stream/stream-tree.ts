import { stepKeyOf } from '../../protocol/identity.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { isStoreAway } from '../../store/store-errors.ts';
import type { ChildSession, FoundChildren } from '../../store/turns/child-store.ts';
import { FollowerTooSlow } from '../client-errors.ts';
import { readWhenBack } from '../store-outage.ts';
import { openStepsAt, stepOfCall } from '../turns/open-steps.ts';
import { sharedRead } from './shared-reads.ts';
import { type BranchReading, type OpenBranch, StreamBranch } from './stream-branch.ts';
import type { StreamItem } from './stream-item.ts';
import { placeText, type StreamPlace } from './stream-place.ts';

/** Between looks at the list of agents while calls are open: a notice may be lost. Milliseconds. */
const LOOK_INTERVAL = 500;
const LOOK_INTERVAL_OF_LISTENERS = 5_000;

export interface TreeOptions {
  after: StreamPlace;
  signal?: AbortSignal | undefined;
  /** How the followed session is read. */
  openRoot: OpenBranch;
  openChild: (child: ChildSession, reading: BranchReading) => ReturnType<OpenBranch>;
}

/**
 * Items of a session's readers, with those of its agents' sessions: each between the event that asks for the
 * agent's call, and the one that has its response, in whatever order else they come. Only what the store lists is read; that an
 * agent has begun is told as a hint to look.
 */
export async function* treeItems(
  store: Store,
  names: SessionNames,
  options: TreeOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  const tree = new StreamTree(store, names, options);
  try {
    for (let item = await tree.next(); item !== undefined; item = await tree.next()) yield item;
  } finally {
    await tree.close();
  }
}

class StreamTree {
  readonly #store: Store;
  readonly #names: SessionNames;
  readonly #options: TreeOptions;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #root: StreamBranch;
  /** By run key, in the order in which they began to be read. */
  readonly #children = new Map<string, StreamBranch>();
  /** Where those agents are read from that the reader has seen something of before. */
  readonly #from: Map<string, number>;
  #listed: readonly ChildSession[] = [];
  /** How many looks at the list have begun, and the last of them that has come back. */
  #looks = 0;
  #looked = 0;
  #lookAt = 0;
  /** While the store is away no look is due before. */
  #noLookBefore = 0;
  /** Items that have arrived can't be given before another look. */
  #mustLook = false;
  /** Listed sessions may begin to be read. */
  #mayBegin = false;
  #wake: () => void = () => undefined;

  constructor(store: Store, names: SessionNames, options: TreeOptions) {
    this.#store = store;
    this.#names = names;
    this.#options = options;
    const { after, signal, openRoot } = options;
    this.#signal = signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal]);
    this.#signal.addEventListener('abort', () => this.#wake(), { once: true });
    this.#from = new Map(after.children);
    this.#root = this.#branch(names, { after: after.seq, open: openRoot });
  }

  /** Undefined at the end. */
  async next(): Promise<StreamItem | undefined> {
    while (!this.#signal.aborted) {
      if (this.#mayBegin) this.#reconcile();
      const item = this.#take();
      if (item !== undefined) return item;
      if (this.#mayBegin) continue;
      if (this.#isLookDue) await this.#look();
      else if (this.#isOver) return undefined;
      else await this.#wait();
    }
    return undefined;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#branches.map((branch) => branch.close()));
  }

  get #branches(): StreamBranch[] {
    return [this.#root, ...this.#children.values()];
  }

  #branch(
    names: SessionNames,
    { after, open, child }: { after: number; open: OpenBranch; child?: ChildSession },
  ): StreamBranch {
    return new StreamBranch({
      after,
      open,
      ...(child === undefined ? {} : { child }),
      signal: this.#signal,
      stepsAt: (seq) => readWhenBack(() => openStepsAt(this.#store, names, seq), this.#signal),
      found: (branch, before) => this.#found(branch, before),
      told: () => {
        this.#lookAt = 0;
        this.#wake();
      },
      arrived: (branch) => {
        branch.arrivedAtLook = this.#looks;
        this.#wake();
      },
    });
  }

  /** A branch's session is known, or it is another one than before. */
  #found(branch: StreamBranch, before: string | undefined): void {
    this.#mayBegin = true;
    this.#wake();
    if (branch !== this.#root || before === undefined) return;
    // It was deleted, and made again.
    for (const child of this.#children.values()) void child.close();
    this.#children.clear();
    this.#from.clear();
    this.#listed = [];
    this.#root.begin();
  }

  /** The next item that may be given; agents first, as what they say comes before what is said of them. */
  #take(): StreamItem | undefined {
    this.#mustLook = false;
    for (const branch of this.#branches.reverse()) {
      const arrived = branch.peek();
      if (arrived === undefined) continue;
      if (arrived === 'end') {
        branch.take();
        branch.isDone = true;
      } else if ('error' in arrived) {
        throw this.#errorOf(branch, arrived.error);
      } else if (this.#mayBeGiven(branch, arrived.item)) {
        branch.take();
        return this.#given(branch, arrived.item);
      }
    }
    return undefined;
  }

  /** The end of a call is given after all items of its agent. */
  #mayBeGiven(branch: StreamBranch, item: StreamItem): boolean {
    if (item.type === 'event') {
      if (!branch.steps.isEndedBy(item)) return true;
      const step = stepKeyOf(item.runKey, item.step);
      const isListed = item.seq <= branch.listedTo;
      return this.#isToldOf(branch, isListed, ({ callKey }) => stepOfCall(callKey) === step);
    }
    if (item.type !== 'call finished') return true;
    const isSuch = ({ callKey }: ChildSession) => callKey === item.callKey;
    return !this.#listed.some(isSuch) || this.#isToldOf(branch, false, isSuch);
  }

  /** Whether a look that began after the last item has shown these agents, and all their items by then are given. */
  #isToldOf(branch: StreamBranch, isListed: boolean, isSuch: (child: ChildSession) => boolean): boolean {
    if (!isListed && this.#looked <= branch.arrivedAtLook) {
      this.#mustLook = true;
      return false;
    }
    const children = this.#listed.filter((child) => child.parent === branch.session && isSuch(child));
    return children.every(({ runKey }) => this.#children.get(runKey)?.isRead ?? true);
  }

  #given(branch: StreamBranch, item: StreamItem): StreamItem {
    const { child } = branch;
    if (item.type === 'event') {
      const isEnd = branch.steps.isEndedBy(item);
      branch.passed(item);
      if (isEnd) this.#reconcile();
      else if (!branch.steps.isEmpty) {
        this.#mayBegin = true;
        // Agents may have begun while the reader was busy.
        this.#lookAt = 0;
      }
    }
    const mark =
      child === undefined
        ? {}
        : { holdfast: { path: child.path, sessionId: child.runKey, seq: branch.place } };
    if (item.type !== 'event') return { ...item, ...mark };
    const place = placeText(this.#place);
    return { ...item, ...mark, ...(place === String(item.seq) && child === undefined ? {} : { place }) };
  }

  get #place(): StreamPlace {
    const children = new Map(this.#from);
    for (const [runKey, { place }] of this.#children) if (place > 0) children.set(runKey, place);
    return { seq: this.#root.place, children };
  }

  #errorOf(branch: StreamBranch, error: unknown): unknown {
    if (!(error instanceof FollowerTooSlow)) return error;
    const { seq, children } = this.#place;
    if (branch === this.#root && children.size === 0) return error;
    return new FollowerTooSlow(children.size === 0 ? seq : placeText({ seq, children }));
  }

  /** Begins to read whose calls are open, and forgets whose calls are answered, as far as they are listed. */
  #reconcile(): void {
    this.#mayBegin = false;
    const listed = new Map(this.#listed.map((child) => [child.runKey, child]));
    for (const [runKey, branch] of this.#children) {
      const child = listed.get(runKey);
      if (child?.session === branch.child?.session) continue;
      void branch.close();
      this.#children.delete(runKey);
    }
    for (const child of this.#listed) this.#readOn(child);
    if (this.#looked === 0) return;
    for (const runKey of this.#from.keys()) if (!listed.has(runKey)) this.#from.delete(runKey);
  }

  #readOn(child: ChildSession): void {
    const { runKey, callKey, status, seq } = child;
    const parent = this.#branches.find(({ session }) => session === child.parent);
    const isOpen = parent?.steps.hasCall(callKey) ?? false;
    const from = this.#from.get(runKey);
    let branch = this.#children.get(runKey);
    if (branch === undefined) {
      if (parent?.isReady !== true || !(isOpen || from !== undefined)) return;
      branch = this.#branch(
        { ...this.#names, sessionId: runKey },
        { after: from ?? 0, child, open: (reading) => this.#options.openChild(child, reading) },
      );
      this.#children.set(runKey, branch);
    }
    this.#from.delete(runKey);
    branch.child = child;
    const hasEnded = status !== 'running';
    // One that was ended from outside is begun again where its caller is.
    if (branch.isDone && (!hasEnded || seq > branch.place)) branch.reopen();
    if (!hasEnded) return;
    branch.finish();
    if (isOpen || !branch.isRead) return;
    void branch.close();
    this.#children.delete(runKey);
  }

  get #isAnyOpen(): boolean {
    return (
      this.#children.size > 0 || this.#from.size > 0 || this.#branches.some(({ steps }) => !steps.isEmpty)
    );
  }

  get #isLookDue(): boolean {
    const now = performance.now();
    if (this.#root.session === undefined || now < this.#noLookBefore) return false;
    return this.#mustLook || (this.#isAnyOpen && (now >= this.#lookAt || this.#isLastLookMissing));
  }

  get #isLastLookMissing(): boolean {
    return this.#root.isDone && this.#looked <= this.#root.arrivedAtLook;
  }

  get #isOver(): boolean {
    if (!this.#root.isDone) return false;
    if (!this.#isAnyOpen) return true;
    return !this.#isLastLookMissing && [...this.#children.values()].every(({ isRead }) => isRead);
  }

  async #look(): Promise<void> {
    this.#looks += 1;
    const look = this.#looks;
    const known = this.#branches.map((branch): [StreamBranch, number] => [branch, branch.known]);
    const interval = this.#store.live.listens ? LOOK_INTERVAL_OF_LISTENERS : LOOK_INTERVAL;
    this.#lookAt = performance.now() + interval;
    let areAll: boolean;
    try {
      ({ children: this.#listed, areAll } = await this.#list());
    } catch (error) {
      if (!isStoreAway(error)) throw error;
      this.#noLookBefore = performance.now() + LOOK_INTERVAL;
      return;
    }
    this.#looked = look;
    // Where they are not all, those of the steps to come are still to be asked for.
    for (const [branch, seq] of known) branch.listedTo = areAll ? seq : 0;
    this.#mayBegin = true;
  }

  /** Those whose calls are open, and those that are read: a session may have had agents without number. */
  async #list(): Promise<FoundChildren> {
    const which = {
      steps: this.#branches.flatMap(({ session, steps }) =>
        session === undefined ? [] : steps.keys.map((step) => ({ session, step })),
      ),
      runKeys: [...new Set([...this.#children.keys(), ...this.#from.keys()])],
    };
    const { app, userId, sessionId } = this.#names;
    const key = `children ${JSON.stringify([app, userId, sessionId, which])}`;
    return await sharedRead(this.#store, key, () => this.#store.turns.findChildren(this.#names, which));
  }

  /** Until something arrives, a look is due, or the signal is aborted. */
  async #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const isTimed = this.#root.session !== undefined && (this.#mustLook || this.#isAnyOpen);
    const until = Math.max(this.#mustLook ? 0 : this.#lookAt, this.#noLookBefore);
    const timer = isTimed
      ? setTimeout(resolve, Math.max(1, Math.ceil(until - performance.now())))
      : undefined;
    await promise;
    clearTimeout(timer);
  }
}
