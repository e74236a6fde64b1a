import fc from 'fast-check';
import type { RequestStatus } from '../../../../src/contract/requests.ts';
import type { AuditEntry } from '../../../../src/protocol/gate.ts';
import { ADA, BOB } from './asking-turn.ts';

/** Of calls 0 and 1; a request is named by its place among all that the turn has made, a call's attempt counts from its newest. */
export type Operation =
  | {
      type: 'entry';
      request: number;
      kind: AuditEntry['kind'];
      by: typeof ADA | typeof BOB;
      again: boolean;
    }
  | { type: 'answered'; request: number; kind: AuditEntry['kind'] | undefined }
  | { type: 'begin'; call: number }
  | { type: 'suspend'; call: number; back: number; n: number }
  | { type: 'fail'; call: number; back: number }
  | { type: 'settle'; call: number }
  | { type: 'cancel'; call: number }
  | { type: 'end' };

const call = fc.nat({ max: 1 });
const request = fc.nat({ max: 5 });
const back = fc.constantFrom(0, 0, 0, 1);
const kind = fc.constantFrom<AuditEntry['kind']>(
  'voted',
  'voted',
  'withdrawn',
  'refused',
  'escalated',
  'approved',
  'approved',
  'rejected',
  'answered',
  'expired',
  'cancelled',
);

const answer = fc.constantFrom<AuditEntry['kind'] | undefined>(
  'approved',
  'approved',
  'approved',
  'rejected',
  'answered',
  undefined,
);

export const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('entry'),
      request,
      kind,
      by: fc.constantFrom(ADA, BOB),
      again: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('answered'), request, kind: answer }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('begin'), call: fc.constant(1) }) },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('suspend'), call, back, n: fc.integer({ min: 2, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fail'), call, back }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('settle'), call }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cancel'), call }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('end') }) },
);

interface ModelRequest {
  call: number;
  status: RequestStatus;
  votes: string[];
  begunAfter: number | undefined;
}

interface ModelCall {
  attempts: number;
  ended: Set<number>;
  settled: boolean;
}

const ENDINGS: readonly string[] = ['approved', 'rejected', 'answered', 'expired', 'cancelled'];

/** What requests, and the calls that wait for them, promise; without a database. */
export class ApprovalModel {
  readonly requests = new Map<string, ModelRequest>();
  readonly calls: [ModelCall, ModelCall] = [newCall(), newCall()];
  running = true;
  /** Rows of the audit. */
  audited = 0;

  callOf(index: number): ModelCall {
    return this.calls[index] as ModelCall;
  }

  requestOf(id: string): ModelRequest {
    return this.requests.get(id) as ModelRequest;
  }

  ask(id: string, index: number): void {
    this.requests.set(id, { call: index, status: 'pending', votes: [], begunAfter: undefined });
    this.audited += 1;
  }

  record(id: string, of: AuditEntry['kind'], voter: string | undefined): void {
    this.audited += 1;
    const found = this.requestOf(id);
    if (found.status !== 'pending') return;
    const votes = ['voted', 'approved', 'rejected', 'answered'].includes(of);
    if (voter !== undefined && votes && !found.votes.includes(voter)) found.votes.push(voter);
    if (of === 'withdrawn') found.votes = found.votes.filter((one) => one !== voter);
    if (ENDINGS.includes(of)) found.status = of as RequestStatus;
  }

  begin(index: number): { kind: 'settled' } | { kind: 'started'; attempt: number; unknown: boolean } {
    return this.#begin(index, 0);
  }

  beginAnswered(id: string, said: AuditEntry['kind'] | undefined) {
    const found = this.requestOf(id);
    if (this.callOf(found.call).settled) return { kind: 'settled' };
    const open = found.status === 'pending' || found.status === 'cancelled';
    if (open || (said !== undefined && said !== found.status)) return { kind: 'closed' };
    found.begunAfter ??= this.callOf(found.call).attempts;
    return this.#begin(found.call, found.begunAfter);
  }

  #begin(index: number, after: number) {
    const found = this.callOf(index);
    if (found.settled) return { kind: 'settled' as const };
    found.attempts += 1;
    const before = Array.from({ length: found.attempts - 1 - after }, (_, nth) => after + 1 + nth);
    const unknown = before.some((attempt) => !found.ended.has(attempt));
    return { kind: 'started' as const, attempt: found.attempts, unknown };
  }

  suspend(index: number, attempt: number, id: string): boolean {
    const found = this.callOf(index);
    if (!this.running || found.settled || attempt !== found.attempts) return false;
    found.ended.add(attempt);
    if (!this.requests.has(id)) this.ask(id, index);
    return true;
  }

  fail(index: number, attempt: number): void {
    this.callOf(index).ended.add(attempt);
  }

  cancel(index: number): void {
    if (!this.running) return;
    this.callOf(index).settled = true;
    this.#cancelRequests((one) => one.call === index);
  }

  end(): void {
    if (!this.running) return;
    this.running = false;
    for (const one of this.calls) one.settled = true;
    this.#cancelRequests(() => true);
  }

  #cancelRequests(concerns: (request: ModelRequest) => boolean): void {
    for (const one of this.requests.values()) {
      if (one.status !== 'pending' || !concerns(one)) continue;
      one.status = 'cancelled';
      this.audited += 1;
    }
  }
}

function newCall(): ModelCall {
  return { attempts: 0, ended: new Set(), settled: false };
}
