import {
  CancellationScope,
  condition,
  isCancellation,
  log,
  scheduleActivity,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import type { DeliveredNotice, DeliverNotice, NotifyInput } from '../../src/protocol/gate.ts';
import { DELIVER_NOTICE, DELIVER_NOTICE_WORKFLOW, NOTIFY } from '../../src/protocol/names.ts';
import { LONGEST_NOTICE_TIME } from '../../src/protocol/sizes.ts';
import { BESIDE, deliverNoticeOptions, notifyOptions, turnPriority } from '../activities.ts';
import type { PendingRequest } from '../approvals/request-book.ts';
import { taken } from '../arguments.ts';

/** Milliseconds for which a turn that is over waits until people were told of what has ended. */
const LONGEST_WAIT = 10_000;

interface Notice {
  requests: PendingRequest[];
  scope: CancellationScope;
}

interface EndNotice {
  input: NotifyInput;
  /** Milliseconds since the epoch. */
  since: number;
  /** Another workflow goes on with it. */
  deliveredApart?: Promise<void>;
}

type Names = Pick<NotifyInput, 'app' | 'userId' | 'sessionId' | 'workflowId'>;

/** Tells people of requests, beside the turn: no call waits for it, and its failure changes nothing. */
export class RequestNotices {
  readonly #names: Names;
  /** The run's scope: a notice outlives the call that it is about. */
  readonly #parent = CancellationScope.current();
  #opened: PendingRequest[] = [];
  #notices: Notice[] = [];
  #ended: PendingRequest[] = [];
  readonly #ends = new Set<EndNotice>();

  constructor(names: Names) {
    this.#names = names;
  }

  /** Requests that open together go into one notice. */
  opened(request: PendingRequest): void {
    if (request.gate.notifies !== true) return;
    this.#opened.push(request);
    if (this.#opened.length > 1) return;
    void Promise.resolve().then(() => this.#notify('opened', this.#opened.splice(0)));
  }

  escalated(request: PendingRequest): void {
    if (request.gate.notifies === true) this.#notify('escalated', [request]);
  }

  /** A request has ended: nobody need be told that it waits, unless another one is told of as well. */
  ended(request: PendingRequest): void {
    for (const { requests, scope } of this.#notices) {
      if (requests.every((each) => each.ending !== undefined)) scope.cancel();
    }
    if (request.gate.notifiesEnd !== true) return;
    this.#ended.push(request);
    if (this.#ended.length > 1) return;
    void Promise.resolve().then(() => this.#notifyEnds(this.#ended.splice(0)));
  }

  /** Whether people are being told of what has ended. */
  get isNotifyingEnds(): boolean {
    return this.#ended.length > 0 || this.#ends.size > 0;
  }

  /**
   * Waits until people were told of what has ended; what takes too long goes on without this workflow.
   *
   * @param isBusy there is other work to do, after which this is asked for again.
   */
  async endsNotified(isBusy: () => boolean): Promise<void> {
    const inTime = await condition(() => !this.isNotifyingEnds || isBusy(), LONGEST_WAIT);
    if (inTime) return;
    await Promise.all([...this.#ends].map((notice) => this.#deliverEndSeparately(notice)));
  }

  #notify(why: 'opened' | 'escalated', all: PendingRequest[]): void {
    const requests = all.filter(({ ending }) => ending === undefined);
    const [first] = requests;
    if (first === undefined) return;
    const scope = new CancellationScope({ cancellable: true, parent: this.#parent });
    const notice = { requests, scope };
    const input = this.#inputOf(why, requests);
    const since = Date.now();
    this.#notices.push(notice);
    void scope
      .run(() => this.#schedule(input))
      .catch(async (error) => {
        this.#warn(input, error);
        const isWanted = !isCancellation(error) && requests.some(({ ending }) => ending === undefined);
        if (isWanted) await this.#deliverSeparately(input, since);
      })
      .finally(() => {
        this.#notices = this.#notices.filter((other) => other !== notice);
      });
  }

  /** Also where the turn is cancelled: people see that nobody waits for them any more. */
  #notifyEnds(requests: readonly PendingRequest[]): void {
    const notice: EndNotice = { input: this.#inputOf('ended', requests), since: Date.now() };
    this.#ends.add(notice);
    void CancellationScope.nonCancellable(() => this.#schedule(notice.input))
      .catch(async (error) => {
        this.#warn(notice.input, error);
        await this.#deliverEndSeparately(notice);
      })
      .finally(() => this.#ends.delete(notice));
  }

  /** It would be gone with this workflow. */
  async #deliverEndSeparately(notice: EndNotice): Promise<void> {
    notice.deliveredApart ??= this.#deliverSeparately(notice.input, notice.since);
    await notice.deliveredApart;
    this.#ends.delete(notice);
  }

  /** Another workflow tells it, for as long as its notifiers want it to be tried. */
  async #deliverSeparately(input: NotifyInput, since: number): Promise<void> {
    const start: DeliverNotice = { ...input, since, retryFor: LONGEST_NOTICE_TIME };
    const child = {
      workflowId: `${workflowInfo().workflowId}/notice-${input.why}-${input.requestIds[0] ?? ''}`,
      args: [start],
      ...BESIDE,
    };
    try {
      await CancellationScope.nonCancellable(() => startChild(DELIVER_NOTICE_WORKFLOW, child));
    } catch (error) {
      this.#warn(input, error);
    }
  }

  #inputOf(why: NotifyInput['why'], requests: readonly PendingRequest[]): NotifyInput {
    const session = requests[0]?.call.session ?? '';
    const requestIds = requests.map(({ gate }) => gate.requestId);
    return { v: PROTOCOL_VERSION, session, ...this.#names, why, requestIds };
  }

  #schedule(input: NotifyInput): Promise<unknown> {
    const { why, requestIds } = input;
    const summary = `${why} · ${requestIds.length === 1 ? requestIds[0] : `${requestIds.length} requests`}`;
    return scheduleActivity(NOTIFY, [input], notifyOptions(summary, turnPriority(this.#names)));
  }

  #warn({ requestIds }: NotifyInput, error: unknown): void {
    if (!isCancellation(error)) log.warn('nobody was told of requests', { requestIds, error });
  }
}

/** Tells people of requests, beside the turn that has made them: by the notifier that could not be told, or by all of the app. */
export async function deliverNotice(given: DeliverNotice): Promise<DeliveredNotice> {
  const start = taken<DeliverNotice>(WORKFLOW_CHECKS.noticeStart, given, {
    of: DELIVER_NOTICE_WORKFLOW,
    type: 'InvalidStart',
  });
  const { notifier, retryFor: _retryFor, ...input } = start;
  const priority = turnPriority(start);
  const summary = `${start.why} · ${start.requestIds.join(',')}`;
  if (notifier !== undefined) {
    return await scheduleActivity<DeliveredNotice>(
      DELIVER_NOTICE,
      [start],
      deliverNoticeOptions(`${notifier} · ${summary}`, priority),
    );
  }
  // A failed notice goes on in its own workflow: this waits only for a worker and the store.
  const options = { ...notifyOptions(summary, priority), scheduleToCloseTimeout: LONGEST_NOTICE_TIME };
  await scheduleActivity(NOTIFY, [input], options);
  return { v: PROTOCOL_VERSION, status: 'told' };
}
