import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { App } from '../../src/app/app.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { inTier } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { calling, Speaking } from './speaking.ts';

/** `HOLDFAST_TREE_SEED` plays what has failed again. */
const SEED = Number(process.env.HOLDFAST_TREE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = Number(process.env.HOLDFAST_PARALLEL_RUNS ?? inTier(1, 4));

const KEYS = ['shared', 'user:shared', 'app:shared', 'own', 'temp:own'] as const;
type Key = (typeof KEYS)[number];

/** Of each agent, of each of its steps: what its calls write. */
type Lanes = Key[][][];

const step = fc.array(fc.constantFrom(...KEYS), { minLength: 1, maxLength: 3 });
const lanes = fc.array(fc.array(step, { maxLength: 3 }), { minLength: 2, maxLength: 6 });
const RANDOM = fc.sample(lanes, { seed: SEED, numRuns: RUNS });

const write = tool({
  name: 'write',
  description: 'd',
  parameters: { type: 'object', properties: { key: { type: 'string' }, value: { type: 'string' } } } as const,
  execute: ({ key = '', value }, { state }) => {
    state.set(key, value);
    return {};
  },
});

/** Keys of an agent's own are named after it. */
const keyOf = (key: Key, lane: number) => (key.endsWith('own') ? `${key}_${lane}` : key);

/** What an agent writes, in order. Each value is written once. */
function writesOf(steps: Key[][], lane: number): { key: string; value: string }[][] {
  return steps.map((keys, at) =>
    keys.map((key, index) => ({ key: keyOf(key, lane), value: `${lane}.${at}.${index}` })),
  );
}

function crew(given: Lanes, index: number) {
  const writers = given.map((steps, lane) => {
    const replies = writesOf(steps, lane).map((writes) =>
      calling(...writes.map((args) => ({ name: 'write', args }))),
    );
    return new Speaking(`writer_${lane}`, [...replies, `done ${lane}`], {
      tools: [write],
      outputKey: lane % 2 === 0 ? `said_${lane}` : 'said',
    });
  });
  const keys = [...new Set(given.flatMap((_, lane) => KEYS.map((key) => keyOf(key, lane))))];
  const reader = new Speaking('reader', ['read'], {
    instruction: `READ<${keys.map((key) => `{${key}?}`).join('|')}>`,
  });
  const all = new ParallelAgent({ name: 'all', subAgents: writers.map(({ agent }) => agent) });
  const rootAgent = new SequentialAgent({ name: `crew_${index}`, subAgents: [all, reader.agent] });
  return { app: new App({ name: `crew_${index}`, rootAgent }), reader, keys };
}

const CREWS = RANDOM.map((given, index) => ({ given, ...crew(given, index) }));

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ apps: CREWS.map(({ app }) => app) });
});
afterAll(() => environment.close());

test.each(CREWS.map((each) => [each.app.name, each] as const))(
  `what agents write at the same time is all kept, and of one key the last in the transcript counts, adk-python #1153: %s of seed ${SEED} [flow.parallel.state]`,
  async (name, { given, reader, keys }) => {
    const described = JSON.stringify(given);
    const names = { app: name, userId: 'ada', sessionId: name };
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    expect(await turn.result(), described).toMatchObject({ status: 'completed' });
    const session = await environment.store.sessions.get(names);
    const events = session?.events ?? [];

    const written = events.flatMap(({ event }) => Object.entries(event.actions?.stateDelta ?? {}));
    const counted = Object.fromEntries(written);
    expect(session?.state, described).toEqual(counted);

    for (const [lane, steps] of given.entries()) {
      const deltas = events
        .filter(({ kind, event }) => kind === 'responses' && event.author === `writer_${lane}`)
        .map(({ event }) => event.actions?.stateDelta ?? {});
      // Of the calls of one step, too, the last one counts. `temp:` is in no session.
      const expected = writesOf(steps, lane).map((writes) =>
        Object.fromEntries(
          writes.filter(({ key }) => !key.startsWith('temp:')).map(({ key, value }) => [key, value]),
        ),
      );
      expect(deltas, described).toEqual(expected);
    }

    const temporary = Object.fromEntries(
      given.flatMap((steps, lane) =>
        writesOf(steps, lane)
          .flat()
          .filter(({ key }) => key.startsWith('temp:'))
          .map(({ key, value }) => [key, value]),
      ),
    );
    const state: Record<string, unknown> = { ...counted, ...temporary };
    const read = /READ<(.*)>/.exec(reader.told[0] ?? '')?.[1];
    expect(read, described).toBe(keys.map((key) => state[key] ?? '').join('|'));
  },
);
