import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JobOutcome, JobRow } from '../../../../src/contract/jobs.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { inTier } from '../../../setup/tier.ts';
import { AnsweringTurn, answer, JobTurn } from './job-turn.ts';

const CALLERS = ['callback', 'poll', 'operator', 'timeout', 'tool'] as const;
const ENDS = ['completed', 'failed', 'cancelled', 'timed_out'] as const;

const saying = fc.nat({ max: 3 });

/** What may happen to a job, in any order. */
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('end'),
      by: fc.constantFrom(...CALLERS),
      as: fc.constantFrom(...ENDS),
      says: saying,
      early: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('message'),
      says: saying,
      goesOn: fc.boolean(),
      queued: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('progress'), says: saying, early: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constant({ type: 'open' as const }) },
  fc.constant({ type: 'park' as const }),
  fc.constant({ type: 'detach' as const }),
  fc.constant({ type: 'resume' as const }),
  fc.constant({ type: 'await' as const }),
  fc.constant({ type: 'poll' as const }),
  fc.constant({ type: 'settle' as const }),
  fc.constant({ type: 'cut off' as const }),
);

type Operation = typeof operation extends fc.Arbitrary<infer One> ? One : never;

function outcomeOf(says: number): JobOutcome {
  return says === 0
    ? { response: { error: 'out of paper' }, failed: true }
    : { response: { pages: says }, failed: false };
}

/** What somebody was told that a job came to. */
type Told = Pick<JobRow, 'status' | 'outcome' | 'endedBy'>;

/** A call with a job, and everybody who has to do with it. */
class Play {
  readonly turn: JobTurn;
  readonly told: Told[] = [];
  /** Events that were said to be of jobs that have ended. */
  readonly seqs: number[] = [];
  #opened = false;

  constructor(store: PostgresStore) {
    this.turn = new JobTurn(store);
  }

  async perform(one: Operation): Promise<void> {
    const { turn } = this;
    switch (one.type) {
      case 'open':
        this.#hear(await turn.openJob(0));
        this.#opened = true;
        return;
      case 'end': {
        const claims = one.early || !this.#opened ? { claims: turn.claims(0) } : {};
        const { says, as: status, by } = one;
        const { first, job } = await turn.endJob(0, { status, by, outcome: outcomeOf(says), ...claims });
        const same = job.status === status && isDeepStrictEqual(job.outcome, outcomeOf(says));
        expect(first).toBe(same);
        this.#hear(job);
        return;
      }
      case 'progress': {
        const claims = one.early || !this.#opened ? { claims: turn.claims(0) } : {};
        const { job } = await turn.store.jobs.progress({
          jobId: turn.jobId(0),
          value: one.says / 4,
          ...claims,
        });
        this.#hear(job);
        return;
      }
      case 'message': {
        const next = new AnsweringTurn(turn.store, { names: turn.names });
        const before = await turn.job(0);
        const parts = [answer(0, outcomeOf(one.says).response, one.goesOn)];
        if (one.queued) await next.queued(parts);
        const { seq } = await next.opens(one.queued ? undefined : parts);
        await next.commit(1, 0);
        const [part] = await next.heard();
        const job = await turn.job(0);
        if (job === undefined) return;
        // Its tool has answered: a message is a late response, as to any call; an update stands in no answer's place.
        if (job.endedBy === 'tool' && job.mode === 'started') {
          if (!one.goesOn) expect(part).toEqual(parts[0]);
          else expect(part?.functionResponse?.response).toEqual(job.outcome?.response);
          return;
        }
        // Of what messages say the latest counts.
        const isNew = !isDeepStrictEqual(before?.outcome, outcomeOf(one.says));
        if (before?.endedBy === 'message' && !one.goesOn && isNew) {
          this.told.length = 0;
          this.seqs.length = 0;
        }
        this.#hear(job);
        if (part?.functionResponse?.willContinue) return;
        expect(part?.functionResponse?.response).toEqual(job.outcome?.response);
        this.seqs.push(seq);
        return;
      }
      case 'cut off': {
        await new AnsweringTurn(turn.store, { names: turn.names }).opens([{ text: 'hi' }]);
        return;
      }
      default:
        if (this.#opened) await this.#performOpened(one.type);
    }
  }

  async #performOpened(type: 'park' | 'resume' | 'detach' | 'await' | 'poll' | 'settle'): Promise<void> {
    const { turn } = this;
    const job = turn.newJob(0);
    if (type === 'park') this.#hear(await turn.park(0));
    else if (type === 'resume') this.#hear(await turn.store.jobs.resume(job));
    else if (type === 'detach') this.#hear(await turn.detach(0));
    else if (type === 'await') this.#hear(await turn.store.jobs.await(job));
    else if (type === 'poll') this.#hear(await turn.store.jobs.recordPoll(job));
    else await turn.settleGoingOn(0);
  }

  #hear(job: JobRow | undefined): void {
    if (job === undefined || job.status === 'running') return;
    const { status, outcome, endedBy } = job;
    this.told.push({ status, ...(outcome && { outcome }), ...(endedBy && { endedBy }) });
  }
}

export function jobModelSuite(store: () => PostgresStore): void {
  test('whoever says what of a job, and when: one outcome, and everyone is told it [job.callback]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 20 }), async (operations) => {
        const play = new Play(store());
        await play.turn.calling();
        let ended: JobRow | undefined;
        for (const one of operations) {
          await play.perform(one);
          const job = await play.turn.job(0);
          if (ended === undefined) {
            if (job?.status !== 'running') ended = job;
            continue;
          }
          if (one.type === 'message' && !one.goesOn && ended.endedBy === 'message') {
            expect(job).toMatchObject({ endedBy: 'message', outcome: outcomeOf(one.says) });
            ended = job;
            continue;
          }
          const { deliveredSeq: _told, ...kept } = ended;
          const { deliveredSeq, ...now } = job as JobRow;
          expect(now).toEqual(kept);
          if (ended.deliveredSeq !== undefined) expect(deliveredSeq).toBe(ended.deliveredSeq);
          ended = job;
        }
        checkTold(play, ended);
      }),
      { numRuns: inTier(6, 60) },
    );
  });

  test('what is said of a job at the same time is one story [job.callback]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 4, maxLength: 12 }), async (operations) => {
        const play = new Play(store());
        await play.turn.calling();
        await play.perform({ type: 'open' });
        // Chains of their own take turns; all else comes in between.
        const messages = operations.filter(({ type }) => type === 'message' || type === 'cut off');
        const others = operations.filter((one) => !messages.includes(one));
        // A second outcome by message counts in place of the first: who asks meanwhile may hear either.
        const outcomes = messages.filter((one) => one.type === 'message' && !one.goesOn);
        const story = messages.filter((one) => one === outcomes[0] || !outcomes.includes(one));
        await Promise.all([
          ...others.map((one) => play.perform(one)),
          (async () => {
            for (const one of story) await play.perform(one);
          })(),
        ]);
        const job = await play.turn.job(0);
        checkTold(play, job?.status === 'running' ? undefined : job);
        await play.turn.endJob(0, { by: 'timeout' });
      }),
      { numRuns: inTier(5, 40) },
    );
  });
}

/** All have heard the same, and the first event that says it is known. */
function checkTold({ told, seqs }: Play, job: JobRow | undefined): void {
  if (job === undefined) {
    expect([told, seqs]).toEqual([[], []]);
    return;
  }
  const { status, outcome, endedBy, deliveredSeq } = job;
  for (const one of told) expect(one).toEqual({ status, outcome, endedBy });
  expect(deliveredSeq).toBe(seqs[0]);
}
