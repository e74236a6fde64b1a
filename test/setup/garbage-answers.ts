import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { isDeep } from './tier.ts';

/** What anybody may answer an activity with who may poll a task queue: forms, each of which some piece of workflow code throws at. */
export const GARBAGE: readonly unknown[] = [
  null,
  undefined,
  true,
  5,
  'planted',
  [],
  [[null]],
  {},
  { v: 1 },
  { kind: { toString: 1 }, counts: { toString: 1 }, status: { toString: 1 } },
  { v: 1, kind: 'planted', status: 5, by: 'planted' },
  { v: 1, kind: 'calls', calls: null },
  {
    ...{ v: 1, kind: 'calls', session: '', seq: 0, agent: '', usage: {}, maxParallelCalls: 1 },
    calls: [{ callKey: 'planted.1.0', callId: '', tool: 'planted', args: { value: {} } }],
    schedules: {},
  },
  { v: 1, kind: 'agents', session: '', seq: 0, agent: '', usage: {}, plan: { agents: [null] } },
  { v: 1, kind: 'final', session: '', seq: 0, agent: '', from: 0, outcome: { status: 'completed' } },
  { v: 1, kind: 'behind', inbox: [null] },
  { v: 1, response: 'planted' },
  { v: 1, parks: null },
  { v: 1, parks: { jobId: 'planted', timeLeft: 'planted', look: null } },
  { v: 1, asks: { requestId: 5 } },
  { v: 1, asks: { requestId: 'rq-planted', kind: 'confirmation', hint: '', votes: [null] } },
  { v: 1, messages: null, counts: true },
  { v: 1, counts: false, by: 5 },
];

/** All of it in `npm run test:deep`; in `npm test` every tenth form, from one on that each test has for itself. */
export function garbage(first: number): readonly unknown[] {
  return GARBAGE.filter((_form, index) => isDeep || index % 10 === first);
}

interface Planted {
  value: unknown;
  /** How many of this activity are answered by its own code before. */
  behind: number;
  times: number;
  isMeant(input: unknown): boolean;
}

/** Answers activities in the place of a worker's own code, as a worker would that took their tasks. */
export class GarbageAnswers {
  readonly #planted = new Map<string, Planted>();
  /** How many were answered with garbage. */
  given = 0;

  readonly interceptors: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: async (input, next) => {
        const planted = this.#planted.get(info.activityType);
        if (planted === undefined || !planted.isMeant(input.args[0])) return await next(input);
        if (planted.behind > 0) {
          planted.behind -= 1;
          return await next(input);
        }
        if (planted.times === 0) return await next(input);
        planted.times -= 1;
        this.given += 1;
        return planted.value;
      },
    },
  });

  /** @param times how many are answered so; those behind have their own results. */
  plant(
    type: string,
    value: unknown,
    { behind = 0, times = 1, isMeant = () => true }: Partial<Planted> = {},
  ) {
    this.#planted.set(type, { value, behind, times, isMeant });
  }

  clear(): void {
    this.#planted.clear();
    this.given = 0;
  }
}
