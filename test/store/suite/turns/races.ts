import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StoredEvent } from '../../../../src/contract/events.ts';
import { createEventActions } from '../../../../src/events/event-actions.ts';
import type { ChainFence } from '../../../../src/protocol/agent-run.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import { Fenced } from '../../../../src/store/store-errors.ts';
import { inTier } from '../../../setup/tier.ts';
import { newNames, nextFence, Turn, USAGE } from './turn.ts';

const STEPS = 3;
const CALLS = 2;

/** What the attempts of a session have seen; the transcript must agree with all of it. */
interface Witness {
  /** The highest that a step was opened with, or found recorded. */
  fence: ChainFence;
  prefixes: StoredEvent[][];
  committed: { seq: number; fence: ChainFence; mark: string }[];
  recorded: { runKey: string; step: number; outcome: unknown }[];
}

/** An attempt of a turn that does one thing after another, until it is overtaken or crashes. */
async function* attempt(turn: Turn, name: string, witness: Witness): AsyncGenerator<void, void> {
  for (let step = 1; step <= STEPS; step += 1) {
    const { fence } = turn;
    let before = witness.fence;
    const opened = await turn.open(step);
    if (opened.kind === 'finished') return;
    if (compare(fence, witness.fence) > 0) witness.fence = fence;
    if (opened.kind === 'open') {
      expect(compare(fence, before)).toBeGreaterThanOrEqual(0);
      witness.prefixes.push(opened.events);
      yield;
      const calls = step < STEPS ? CALLS : 0;
      const mark = `${name}.${step}`;
      before = witness.fence;
      const committed = await turn.commit(step, calls, {
        actions: createEventActions({ stateDelta: { last: mark, [`step${step}`]: name } }),
      });
      witness.recorded.push({ runKey: turn.invocationId, step, outcome: committed.outcome });
      if (committed.kind === 'committed') {
        expect(compare(fence, before)).toBeGreaterThanOrEqual(0);
        witness.committed.push({ seq: committed.seq, fence, mark });
      }
    }
    yield;
    for (let index = 0; step < STEPS && index < CALLS; index += 1) {
      await turn.begin(step, index);
      await turn.settle(step, index, { by: name }, { stateDelta: { [`call${index}`]: `${name}.${step}` } });
      yield;
    }
  }
}

const compare = (a: ChainFence, b: ChainFence) => a.startedAt - b.startedAt || a.invocation - b.invocation;

export function raceSuite(store: () => PostgresStore): void {
  test('chains and attempts that race on one session write one transcript [store.append]', async () => {
    const attempts = fc.array(
      fc.record({
        chain: fc.nat(2),
        invocation: fc.integer({ min: 1, max: 2 }),
        ends: fc.boolean(),
      }),
      { minLength: 2, maxLength: 6 },
    );
    // By chain and invocation; a chain may be started for a message that another one has taken up.
    const messages = fc.array(fc.nat(3), { minLength: 6, maxLength: 6 });
    const schedule = fc.array(fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 3 }), {
      minLength: 5,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(attempts, messages, schedule, async (all, ofChains, rounds) => {
        const names = newNames();
        const chains = [nextFence(), nextFence(), nextFence()];
        const none = { startedAt: 0, invocation: 0 };
        const witness: Witness = { fence: none, prefixes: [], committed: [], recorded: [] };
        const racing = all.map(({ chain, invocation, ends }, index) => {
          const message = ofChains[2 * chain + invocation - 1];
          const fence = { startedAt: chains[chain]?.startedAt ?? 0, invocation };
          const turn = new Turn(store(), { names, messageId: `m${message}`, fence });
          return { turn, ends, over: false, steps: attempt(turn, `a${index}`, witness) };
        });
        for (const round of rounds) {
          await Promise.all(
            round.map(async (index) => {
              const one = racing[index % racing.length];
              if (one === undefined || one.over) return;
              one.over = await advance(one.steps);
            }),
          );
        }
        for (const { turn, ends, over } of racing) {
          if (over || !ends || turn.session === '') continue;
          const interrupted = { status: 'interrupted', usage: USAGE } as const;
          await turn.end(STEPS, [], interrupted).catch(overtaken);
        }
        const last = new Turn(store(), { names });
        const { events, state } = await last.opened(1);
        checkTranscript(events, witness, last);
        await checkSession(names, events);
        expect(state).toEqual(stateAfter(events));
      }),
      { numRuns: inTier(6, 60) },
    );
  });

  /** Whether the attempt is over. Two of one turn at once share a generator's step: the second one waits. */
  async function advance(steps: AsyncGenerator<void, void>): Promise<boolean> {
    try {
      return (await steps.next()).done ?? false;
    } catch (error) {
      overtaken(error);
      return true;
    }
  }

  function overtaken(error: unknown): void {
    if (!(error instanceof Fenced)) throw error;
  }

  function checkTranscript(events: readonly StoredEvent[], witness: Witness, last: Turn): void {
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    const places = events.map(({ kind, runKey, step }) => `${kind} ${runKey} ${step}`);
    expect(new Set(places).size).toBe(places.length);
    // Whoever read before has read the beginning of it.
    for (const prefix of witness.prefixes) expect(prefix).toEqual(events.slice(0, prefix.length));

    const models = events.filter(({ kind }) => kind === 'model');
    expect(models.map(({ seq, event }) => [seq, event.actions.stateDelta.last])).toEqual(
      witness.committed.map(({ seq, mark }) => [seq, mark]).sort(([a], [b]) => Number(a) - Number(b)),
    );
    // Nobody wrote after a newer one had.
    const fences = [...witness.committed].sort((a, b) => a.seq - b.seq).map(({ fence }) => fence);
    expect([...fences].sort(compare)).toEqual(fences);
    for (const { runKey, step, outcome } of witness.recorded) {
      const same = witness.recorded.filter((other) => other.runKey === runKey && other.step === step);
      for (const other of same) expect(other.outcome).toEqual(outcome);
    }
    // All calls are answered, once and in their order, behind the event that asks for them.
    const asking = models.filter(({ event }) => event.content?.parts?.some((part) => part.functionCall));
    const answers = events.filter(({ kind }) => kind === 'responses');
    expect(answers.map(({ runKey, step }) => `${runKey} ${step}`).sort()).toEqual(
      asking.map(({ runKey, step }) => `${runKey} ${step}`).sort(),
    );
    for (const { runKey, step, seq, event } of answers) {
      expect(event.content?.parts?.map((part) => part.functionResponse?.id)).toEqual(['call_0', 'call_1']);
      expect(asking.find((asked) => asked.runKey === runKey && asked.step === step)?.seq).toBeLessThan(seq);
    }
    expect(events.at(-1)).toMatchObject({ kind: 'message', runKey: last.invocationId });
  }

  async function checkSession(names: SessionNames, events: readonly StoredEvent[]): Promise<void> {
    expect(await store().sessions.readEvents(names)).toEqual(events);
    expect((await store().sessions.find(names))?.seq).toBe(events.length);
    for (const runKey of new Set(events.map((event) => event.runKey))) {
      const found = await store().turns.findInvocation(names, runKey);
      expect(found?.from).toBeLessThanOrEqual((found?.to ?? 0) + 1);
      expect(found?.status === 'running').toBe(runKey === events.at(-1)?.runKey);
    }
  }
}

function stateAfter(events: readonly StoredEvent[]): Record<string, unknown> {
  return Object.assign({}, ...events.map(({ event }) => event.actions.stateDelta));
}
