import { CancellationScope, isCancellation, log, scheduleActivity } from '@temporalio/workflow';
import type { NotifyInput } from '../src/protocol/gate.ts';
import { NOTIFY } from '../src/protocol/names.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { notifyOptions } from './activity-options.ts';
import type { PendingRequest } from './request-book.ts';
import { turnPriority } from './turn-priority.ts';

interface Notice {
  requests: PendingRequest[];
  scope: CancellationScope;
}

type Names = Pick<NotifyInput, 'app' | 'userId' | 'sessionId' | 'workflowId'>;

/** Tells people of requests, beside the turn: nothing waits for it, and its failure changes nothing. */
export class RequestNotices {
  readonly #names: Names;
  /** Of the run: a notice outlives the call that it tells of. */
  readonly #parent = CancellationScope.current();
  #opened: PendingRequest[] = [];
  #notices: Notice[] = [];

  constructor(names: Names) {
    this.#names = names;
  }

  /** Those that open together are told of together. */
  opened(request: PendingRequest): void {
    if (request.gate.notifies !== true) return;
    this.#opened.push(request);
    if (this.#opened.length > 1) return;
    void Promise.resolve().then(() => this.#tell('opened', this.#opened.splice(0)));
  }

  escalated(request: PendingRequest): void {
    if (request.gate.notifies === true) this.#tell('escalated', [request]);
  }

  /** A request has ended: nobody need be told any more, unless another one is told of as well. */
  ended(): void {
    for (const { requests, scope } of this.#notices) {
      if (requests.every(({ ending }) => ending !== undefined)) scope.cancel();
    }
  }

  #tell(why: NotifyInput['why'], all: PendingRequest[]): void {
    const requests = all.filter(({ ending }) => ending === undefined);
    const [first] = requests;
    if (first === undefined) return;
    const scope = new CancellationScope({ cancellable: true, parent: this.#parent });
    const notice = { requests, scope };
    const requestIds = requests.map(({ gate }) => gate.requestId);
    const { session } = first.call;
    const input: NotifyInput = { v: PROTOCOL_VERSION, session, ...this.#names, why, requestIds };
    const summary = `${why} · ${requestIds.length === 1 ? requestIds[0] : `${requestIds.length} requests`}`;
    this.#notices.push(notice);
    void scope
      .run(() => scheduleActivity(NOTIFY, [input], notifyOptions(summary, turnPriority(this.#names))))
      .catch((error) => {
        if (!isCancellation(error)) log.warn('nobody was told of requests', { requestIds, error });
      })
      .finally(() => {
        this.#notices = this.#notices.filter((other) => other !== notice);
      });
  }
}
